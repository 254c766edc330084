import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

export interface WrittenFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** SHA-256 (hex) of a file's content, streamed. */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, ...(signal && { signal }) })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/** Writes a new small file and flushes it to disk. @throws file system errors, also if the file exists */
export async function writeNewFile(dir: string, name: string, bytes: Uint8Array): Promise<WrittenFile> {
  const file = await open(join(dir, name), 'wx')
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  return { name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}
