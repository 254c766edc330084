import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { messageOf, osCode } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import { takeLock } from '../../../base/locks/lock.ts'
import type { Store } from '../store.ts'
import { folderFiles } from './files.ts'
import { folderLogs } from './logs.ts'
import { folderMarks } from './marks.ts'
import { folderValues } from './values.ts'

/** An index in a folder, local or shared by machines. */
export const folderStore: Store = {
  keepsFiles: true,
  renames: true,
  durable: false,
  slowReads: false,
  locksCanBeLost: false,
  join,
  resolve,
  check: () => Promise.resolve(),
  freeBytes,
  lanceOptions: () => undefined,
  readError: (error) => failureOf(error) ?? (error instanceof Error ? error : new Error(messageOf(error))),
  files: folderFiles,
  values: folderValues,
  locks: {
    take: (location, { waitMs, signal }) => takeLock(location, waitMs, signal),
    of: (_value, file) => file,
    check: () => Promise.resolve(),
  },
  logs: folderLogs,
  marks: folderMarks,
}

/** Free bytes of a folder, which need not exist yet. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch (error) {
    if (osCode(error) === 'ENOENT' && dirname(folder) !== folder) return freeBytes(dirname(folder))
    throw error
  }
}
