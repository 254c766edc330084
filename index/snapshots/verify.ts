import { CodedError } from '../../base/errors.ts'
import { IdSet } from '../id-set.ts'
import type { Table } from '../table/lance.ts'
import { stringAt, type Columns } from '../table/rows.ts'

/**
 * Reads ids and hashes of a whole table: few bytes, but some of every file.
 * @returns the number of rows
 * @throws index_invalid if rows are missing or an id occurs twice
 */
export async function countedRows(table: Table): Promise<number> {
  const ids = new IdSet()
  let rows = 0
  for await (const batch of table.query().select(['id', 'hash'])) {
    const part: Columns = batch
    for (let row = 0; row < part.numRows; row++) ids.add(stringAt(part, 'id', row))
    rows += part.numRows
  }
  const wanted = await table.countRows()
  if (rows !== wanted || ids.size !== rows)
    throw new CodedError(
      'index_invalid',
      `The table ${table.storedAs} has ${rows} of ${wanted} rows and ${ids.size} distinct ids: it is not used.`,
      {
        field: table.storedAs,
      },
    )
  return rows
}
