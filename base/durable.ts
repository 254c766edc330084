import { randomUUID } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { osCode } from './errors.ts'
import { makeFolder } from './make-folder.ts'

/** Fsyncs a file or folder. A missing file is no error: compaction removes some. */
export async function syncPath(path: string): Promise<void> {
  try {
    const handle = await open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (osCode(error) !== 'ENOENT') throw error
  }
}

export interface DurableOptions {
  /** Permissions of the file, before the process's umask. */
  readonly mode?: number
  /** Fails with EEXIST if the file exists, also if another process creates it at the same time. */
  readonly exclusive?: boolean
}

/** Writes a file atomically and durably: temporary file, fsync, rename, fsync of the folder. */
export async function writeFileDurably(
  path: string,
  content: string | Uint8Array,
  { mode = 0o666, exclusive = false }: DurableOptions = {},
): Promise<void> {
  const aside = `${path}.${randomUUID()}.tmp`
  await makeFolder(dirname(path))
  try {
    const handle = await open(aside, 'wx', mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (exclusive) {
      await link(aside, path)
      await rm(aside)
    } else await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
  await syncPath(dirname(path))
}
