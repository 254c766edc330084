import { invalidRequest } from '../../base/errors.ts'
import { type Table, writing } from './lance.ts'
import { arrowTable, type Columns, type Rows, stringsIn, stringsOf } from './rows.ts'

export function sqlString(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** `column IN (...)` for LanceDB's `where`. @param column a trusted name or expression */
export function sqlIn(column: string, values: readonly string[]): string {
  return `${column} IN (${values.map(sqlString).join(', ')})`
}

export function sqlIds(ids: readonly string[]): string {
  return sqlIn('id', ids)
}

/** Ids per `IN (...)`: keeps a condition well below a megabyte. */
const IDS_PER_QUERY = 2000

export function chunks<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size))
}

/** Inserts or replaces rows by id in one atomic commit. @returns the table's version @throws invalid_request if an id occurs twice */
export async function mergeRows(table: Table, rows: Rows, dimension: number): Promise<number> {
  const ids = new Set<string>()
  for (const { id } of rows.passages) {
    if (ids.has(id)) throw invalidRequest('passages', `The id "${id}" occurs twice in one upsert: send each passage once.`)
    ids.add(id)
  }
  const source = arrowTable(rows, dimension)
  const { version } = await writing(table, () => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source))
  return version
}

/** Deletes by SQL condition. @returns the number of passages deleted. */
export async function deleteWhere(table: Table, condition: string): Promise<number> {
  return (await writing(table, () => table.delete(condition))).numDeletedRows
}

/** Deletes by ids. @returns the number of passages deleted. */
export async function deleteRows(table: Table, ids: readonly string[]): Promise<number> {
  let deleted = 0
  for (const some of chunks(ids, IDS_PER_QUERY)) deleted += await deleteWhere(table, sqlIds(some))
  return deleted
}

export async function idsWhere(table: Table, condition: string): Promise<string[]> {
  return stringsIn(await table.query().where(condition).select(['id']).toArrow(), 'id')
}

/**
 * Removes all but the last written row of each id: a writer that was paused for longer than its lock is held for it can leave duplicates.
 * The caller must hold the table's writer lock.
 * @returns the number of rows removed
 */
export async function removeDoubles(table: Table, ids: readonly string[]): Promise<number> {
  let removed = 0
  for (const some of chunks(ids, IDS_PER_QUERY)) {
    // Looked up at each attempt: another commit may have moved rows.
    removed += await writing(table, async () => {
      const rows = await olderDoubles(table, some)
      if (rows.length === 0) return 0
      return (await table.delete(`${sqlIds(rows.map(({ id }) => id))} AND _rowid IN (${rows.map(({ row }) => String(row)).join(', ')})`))
        .numDeletedRows
    })
  }
  return removed
}

/** Rows that a later row with the same id follows. Row ids grow with every write. */
async function olderDoubles(table: Table, ids: readonly string[]): Promise<{ readonly id: string; readonly row: bigint }[]> {
  const found: Columns = await table.query().where(sqlIds(ids)).withRowId().select(['id', '_rowid']).toArrow()
  const newest = new Map<string, bigint>()
  const older: { id: string; row: bigint }[] = []
  for (const [at, id] of stringsIn(found, 'id').entries()) {
    const row = BigInt(String(found.getChild('_rowid')?.get(at)))
    const known = newest.get(id)
    if (known !== undefined) older.push({ id, row: known < row ? known : row })
    if (known === undefined || known < row) newest.set(id, row)
  }
  return older
}

/** Looks ids up, some at a time. @returns `hashes`: content hash of each id with one row; `doubled`: ids with several rows */
export async function storedRows(table: Table, ids: readonly string[]) {
  const [hashes, doubled] = [new Map<string, string>(), new Set<string>()]
  for (const some of chunks(ids, IDS_PER_QUERY)) {
    const found = await table.query().where(sqlIds(some)).select(['id', 'hash']).toArrow()
    const hash = stringsOf(found, 'hash')
    for (const [row, id] of stringsIn(found, 'id').entries()) {
      if (hashes.has(id)) doubled.add(id)
      hashes.set(id, hash(row))
    }
  }
  for (const id of doubled) hashes.delete(id)
  return { hashes, doubled }
}
