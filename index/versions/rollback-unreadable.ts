import { messageOf } from '../../base/errors.ts'
import { storeOf } from '../store/store-of.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import { writing, type Table } from '../table/lance.ts'
import { versionsOf } from '../table/versions.ts'

const ROWS_AT_ONCE = 4096

/**
 * Reads the last rows of a job's own table, which may not be durable: after a power loss a manifest can be complete and its data not, and
 * every later read would fail. Then rolls the table back to the version before them. Does nothing if the store is durable.
 * @param durable number of rows before those
 * @returns the problem, if the table was rolled back
 * @throws the read error, if no such version is left
 */
export async function rollbackUnreadable(table: Table, durable: number): Promise<unknown> {
  const error = storeOf(table.dir).durable ? undefined : await unreadableFrom(table, durable)
  if (error === undefined) return undefined
  const versions = (await versionsOf(table)).map(({ version }) => version).sort((a, b) => b - a)
  for (const version of versions) {
    await table.checkout(version)
    if ((await table.countRows()) !== durable) continue
    await writing(table, () => table.restore())
    return error
  }
  await table.checkoutLatest()
  throw error instanceof Error ? error : new Error(messageOf(error))
}

/** Returns the error of reading all columns of the rows from `first` on. */
async function unreadableFrom(table: Table, first: number): Promise<unknown> {
  const rows = await table.countRows()
  for (let from = first; from < rows; from += ROWS_AT_ONCE) {
    const offsets = Array.from({ length: Math.min(ROWS_AT_ONCE, rows - from) }, (_, i) => from + i)
    const columns = [...PASSAGE_COLUMNS, 'hash', 'vector']
    const failed = await table
      .takeOffsets(offsets)
      .select(columns)
      .toArrow()
      .then(
        () => undefined,
        (error: unknown) => error,
      )
    if (failed !== undefined) return failed
  }
  return undefined
}
