import type { Lock } from '../../base/locks/lock.ts'
import { storeOf, within } from '../store/store-of.ts'
import { fenceTables, tablesOf } from './fence.ts'
import { withWriterLock } from './writer-lock.ts'

/**
 * One bulk writer per index folder, over processes, held for the length of a job. Single changes are not kept out by it: they
 * and the job's commits are serialized by the writer lock (`withWriterLock`).
 * @param dir folder of the index, or its address
 * @returns undefined if another live process holds the lock: try again.
 */
export function tryJobLock(dir: string): Promise<Lock | undefined> {
  // Whatever a holder that stalled was writing, into any table, ends with the takeover.
  return storeOf(dir).locks.take(within(dir, 'writer'), { waitMs: 0, onTakeover: () => fenceAll(dir) })
}

async function fenceAll(dir: string): Promise<void> {
  for (const table of await tablesOf(dir))
    await withWriterLock(dir, table, () => fenceTables(dir, (storedAs) => storedAs.startsWith(`${table}.`)))
}
