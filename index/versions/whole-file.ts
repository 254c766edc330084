import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { osCode } from '../../base/errors.ts'

/** Trailing bytes of LanceDB's files, by suffix: its own format, of manifests too, and Arrow's file format. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['.lance', 'LANC'],
  ['.idx', 'LANC'],
  ['.manifest', 'LANC'],
  ['.arrow', 'ARROW1'],
])

/**
 * True if a file of a stored table ends as its format requires: after a power loss it can be empty, truncated or full of zeros. A file of
 * another format is complete unless empty; so is one that has been removed, since no version needs it.
 */
export async function isWhole(path: string): Promise<boolean> {
  const ending = Buffer.from(ENDINGS.get(extname(path)) ?? '')
  try {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      if (size <= ending.length) return false
      const { buffer } = await file.read(Buffer.alloc(ending.length), 0, ending.length, size - ending.length)
      return buffer.equals(ending)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (osCode(error) === 'ENOENT') return true
    throw error
  }
}
