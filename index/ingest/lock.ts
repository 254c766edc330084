import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { osCode } from '../../base/errors.ts'
import { takeLock, type Lock } from '../../base/lock.ts'

/** Software before the present lock marked its holder by a file of this ending, touched every ten seconds. */
const OLDER_SUFFIX = '.holder'
const OLDER_SILENT_MS = 60_000

/**
 * One bulk writer per index folder, over processes, held for the length of a job. Single changes are not kept out by it: they
 * and the job's commits take turns (`inTurn`).
 * @returns undefined if another live process holds the lock: try again.
 */
export async function tryLock(folder: string): Promise<Lock | undefined> {
  const lock = await takeLock(folder, 0)
  if (lock === undefined || !(await heldByOlderSoftware(folder))) return lock
  await lock.release()
  return undefined
}

async function heldByOlderSoftware(folder: string): Promise<boolean> {
  for (const name of (await readdir(folder)).filter((file) => file.endsWith(OLDER_SUFFIX))) {
    try {
      if (Date.now() - (await stat(join(folder, name))).mtimeMs < OLDER_SILENT_MS) return true
    } catch (error) {
      if (osCode(error) !== 'ENOENT') throw error
    }
  }
  return false
}
