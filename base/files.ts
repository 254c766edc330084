import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from './errors.ts'

/**
 * Paths of all files in a folder and below it, unordered. Skips files that are removed during the walk, and only those: Node's own
 * recursive reading fails if one folder disappears. A missing folder has no files.
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

/**
 * The bytes of a file, which is opened when the first piece is read: a stream that is opened earlier and fails before it is read ends the
 * process, since nothing listens to its error yet.
 */
export async function* fileBytes(path: string, chunkBytes = 64 * 1024): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>
}
