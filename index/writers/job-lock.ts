import type { Lock } from '../../base/locks/lock.ts'
import { checkFolder } from '../versions/alias.ts'
import { storeOf, within } from '../store/store-of.ts'
import { fenceTables, tablesOf } from './fence.ts'
import { withWriterLock } from './writer-lock.ts'

/**
 * One job per index folder, over processes. Single changes do not take this lock: they and the job's commits are serialised by the writer
 * lock (`withWriterLock`).
 * @param dir folder of the index, or its address
 * @throws index_missing if the folder has disappeared
 * @returns undefined if another live process holds the lock: try again
 */
export async function tryJobLock(dir: string): Promise<Lock | undefined> {
  await checkFolder(dir)
  // The takeover fences off a stalled holder's pending writes, to any table.
  return storeOf(dir).locks.take(within(dir, 'writer'), { waitMs: 0, onTakeover: () => fenceAll(dir) })
}

async function fenceAll(dir: string): Promise<void> {
  for (const table of await tablesOf(dir))
    await withWriterLock(dir, table, () => fenceTables(dir, (storedAs) => storedAs.startsWith(`${table}.`)))
}
