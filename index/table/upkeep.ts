import { within } from '../store/place.ts'
import { checkTableName } from './alias.ts'
import { takeLock } from './lock.ts'

export interface UpkeepOptions {
  /** How long to wait for another process that is at it; Infinity for as long as it takes. */
  readonly waitMs: number
  readonly signal?: AbortSignal
}

/**
 * One process at a time puts a table's files together and makes its indexes: what one of them moves is lost work for another. Changes
 * and reads go on beside it.
 * @returns false if another process was at it for longer than `waitMs`: nothing was done.
 */
export async function upkeep(
  dir: string,
  table: string,
  { waitMs, signal }: UpkeepOptions,
  work: () => Promise<unknown>,
): Promise<boolean> {
  const lock = await takeLock(within(dir, `${checkTableName(table)}.upkeep`), waitMs, { signal, advisory: true })
  if (lock === undefined) return false
  try {
    await work()
  } finally {
    await lock.release()
  }
  return true
}
