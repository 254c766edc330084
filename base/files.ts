import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { orAbsent } from './exists.ts'

/**
 * Paths of all files in a folder and below it, unordered. Skips files that are removed during the walk, and only those: Node's own
 * recursive reading fails if one folder disappears. A missing folder has no files.
 */
export async function filesUnder(folder: string): Promise<string[]> {
  const entries = (await orAbsent(readdir(folder, { withFileTypes: true }))) ?? []
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

/** SHA-256 (hex) of a file's content, streamed. @throws the signal's reason once aborted */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of fileBytes(path, 1 << 20)) {
    signal?.throwIfAborted()
    hash.update(chunk)
  }
  return hash.digest('hex')
}

/** The name of an entry of a ZIP archive. Some programs write UTF-8 without its flag, which yauzl reads as code page 437. */
export function zipName({ fileName, fileNameRaw }: { readonly fileName: string; readonly fileNameRaw: Buffer }): string {
  return isUtf8(fileNameRaw) ? fileNameRaw.toString() : fileName
}
