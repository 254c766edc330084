import { sqlFilter, sqlIds } from '../search/filter.ts'
import { CodedError } from '../../base/errors.ts'
import { contentHash } from '../hash.ts'
import { writing, type Table } from './lance.ts'
import { arrowTable, passageAt, stringAt, type Rows } from './rows.ts'
import type { SearchFilter } from '../types.ts'

/** Ids of one `IN (...)`: keeps a condition well below a megabyte. */
const IDS_PER_QUERY = 2000

export function chunks<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size))
}

/** Adds rows whose ids are known to be absent: one commit, all or nothing. */
export async function appendRows(table: Table, rows: Rows, dimension: number): Promise<void> {
  await writing(table, () => table.add(arrowTable(rows, dimension)))
}

/**
 * Inserts rows, replacing those of the same ids: one commit, all or nothing.
 * @returns the table version that holds them.
 * @throws invalid_request if an id occurs twice.
 */
export async function mergeRows(table: Table, rows: Rows, dimension: number): Promise<number> {
  const ids = new Set<string>()
  for (const { id } of rows.passages) {
    if (ids.has(id))
      throw new CodedError('invalid_request', `The id "${id}" occurs twice in one upsert: send each passage once.`, { field: 'passages' })
    ids.add(id)
  }
  const source = arrowTable(rows, dimension)
  const { version } = await writing(table, () => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source))
  return version
}

/** Deletes by ids or by a filter. @returns the number of passages deleted. @throws invalid_request for an empty filter. */
export async function deleteRows(table: Table, which: readonly string[] | SearchFilter): Promise<number> {
  const conditions = isIdList(which) ? chunks(which, IDS_PER_QUERY).map(sqlIds) : [wholeFilter(which)]
  let deleted = 0
  for (const condition of conditions) deleted += (await writing(table, () => table.delete(condition))).numDeletedRows
  return deleted
}

function isIdList(which: readonly string[] | SearchFilter): which is readonly string[] {
  return Array.isArray(which)
}

function wholeFilter(filter: SearchFilter): string {
  const condition = sqlFilter(filter)
  if (condition === undefined)
    throw new CodedError('invalid_request', 'The filter is empty and would delete everything: name a source or a title.', {
      field: 'filter',
    })
  return condition
}

/** Content hashes of those ids that are in the table; worked out from the content for rows older than the hash column. */
export async function storedHashes(table: Table, ids: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const some of chunks(ids, IDS_PER_QUERY)) {
    const bare: string[] = []
    const hashes = await table.query().where(sqlIds(some)).select(['id', 'hash']).toArrow()
    for (let row = 0; row < hashes.numRows; row++) {
      const id = stringAt(hashes, 'id', row)
      const hash = stringAt(hashes, 'hash', row)
      if (hash === '') bare.push(id)
      else found.set(id, hash)
    }
    if (bare.length === 0) continue
    const content = await table.query().where(sqlIds(bare)).select(['id', 'title', 'text', 'source']).toArrow()
    for (let row = 0; row < content.numRows; row++) {
      const passage = passageAt(content, row)
      found.set(passage.id, contentHash(passage))
    }
  }
  return found
}
