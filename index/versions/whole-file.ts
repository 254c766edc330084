import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { osCode } from '../../base/errors.ts'

/** What files of LanceDB end with, by their suffix: its own format, of versions too, and Arrow's file format. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['.lance', 'LANC'],
  ['.idx', 'LANC'],
  ['.manifest', 'LANC'],
  ['.arrow', 'ARROW1'],
])

/**
 * Whether a file of a stored table ends as its format does: after a power loss it can be empty, cut off, or full of zeros. One whose
 * format says nothing at its end is whole unless it is empty; so is one that is gone meanwhile, since nobody misses it.
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
