import { storeOf, within } from '../store/store-of.ts'
import { checkFolder, checkTableName } from '../versions/alias.ts'

export interface MaintenanceLockOptions {
  /** How long to wait for another process; Infinity without limit. */
  readonly waitMs: number
  readonly signal?: AbortSignal
}

/**
 * Serialises compaction and index builds of a table over all processes: concurrent runs would conflict and repeat work. Writes and reads
 * continue.
 * @returns false if another process held the lock for longer than `waitMs`: nothing was done
 */
export async function withMaintenanceLock(
  dir: string,
  table: string,
  { waitMs, signal }: MaintenanceLockOptions,
  work: () => Promise<unknown>,
): Promise<boolean> {
  await checkFolder(dir)
  const lock = await storeOf(dir).locks.take(within(dir, `${checkTableName(table)}.upkeep`), { waitMs, signal, advisory: true })
  if (lock === undefined) return false
  try {
    await work()
  } finally {
    await lock.release()
  }
  return true
}
