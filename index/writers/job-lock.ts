import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isRemote, within } from '../store/location.ts'
import { fenceTables, tablesOf } from './fence.ts'
import { withWriterLock } from './writer-lock.ts'
import { osCode } from '../../base/errors.ts'
import type { Lock } from '../../base/locks/lock.ts'
import { takeLock } from './lock.ts'

/** Software before the present lock marked its holder by a file of this ending, touched every ten seconds. */
const OLDER_SUFFIX = '.holder'
const OLDER_SILENT_MS = 60_000
const WRITER = 'writer'

/**
 * One bulk writer per index folder, over processes, held for the length of a job. Single changes are not kept out by it: they
 * and the job's commits are serialized by the writer lock (`withWriterLock`).
 * @param dir folder of the index, or its address
 * @returns undefined if another live process holds the lock: try again.
 */
export async function tryJobLock(dir: string): Promise<Lock | undefined> {
  const folder = within(dir, WRITER)
  // Whatever a holder that stalled was writing, into any table, ends with the takeover.
  const lock = await takeLock(folder, 0, { onTakeover: () => fenceAll(dir) })
  if (lock === undefined || isRemote(dir) || !(await heldByOlderSoftware(folder))) return lock
  await lock.release()
  return undefined
}

async function fenceAll(dir: string): Promise<void> {
  for (const table of await tablesOf(dir))
    await withWriterLock(dir, table, () => fenceTables(dir, (storedAs) => storedAs.startsWith(`${table}.`)))
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
