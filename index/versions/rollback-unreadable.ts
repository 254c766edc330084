import { messageOf } from '../../base/errors.ts'
import { storeOf } from '../store/store-of.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import { writing, type Table } from '../table/lance.ts'
import { versionsOf } from '../table/versions.ts'

const ROWS_AT_ONCE = 4096

/**
 * Reads the rows of a job's own table that were written last and perhaps never forced onto the disk: after a power loss a manifest can be
 * whole whose data is not, and no later read would succeed. Then the table goes back to the version before them.
 * Nothing to do in a store that keeps what it acknowledged.
 * @param durable rows before those
 * @returns what was wrong, where the table went back
 * @throws what reading threw, where no such version is left
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

/** What reading all columns of the rows from `first` on throws. */
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
