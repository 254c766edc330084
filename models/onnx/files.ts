import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

export interface WrittenFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
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
