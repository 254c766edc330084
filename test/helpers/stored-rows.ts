import { readAlias } from '../../index/versions/alias.ts'
import { connectLance } from '../../index/table/lance.ts'
import { halvesOf, stringsOf } from '../../index/table/rows.ts'

/** "id hash" of every row of the live table with its vector's bits, in the order of ids: doubles show. */
export async function storedRows(dir: string, name = 'passages'): Promise<readonly (readonly [string, readonly number[]])[]> {
  const alias = await readAlias({ dir, table: name })
  const connection = await connectLance(dir, 0)
  try {
    const table = await connection.openTable(alias ?? '')
    const rows = await table.query().select(['id', 'hash', 'vector']).toArrow()
    return Array.from(
      { length: rows.numRows },
      (_, row) => [`${stringsOf(rows, 'id')(row)} ${stringsOf(rows, 'hash')(row)}`, [...halvesOf(rows)(row)]] as const,
    ).sort(([a], [b]) => (a < b ? -1 : 1))
  } finally {
    connection.close()
  }
}
