import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from './errors.ts'

/**
 * Paths of all files in a folder and below it, in no order. What others remove meanwhile is left out, and only that: Node's own recursive
 * reading gives nothing at all where one folder is gone. A folder that is not there has none.
 */
export async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (osCode(error) === 'ENOENT') return []
    throw error
  })
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return filesUnder(path)
      return entry.isFile() ? [path] : []
    }),
  )
  return found.flat()
}
