import { sqlFilter, sqlIds } from './filter.ts'
import { IndexError } from './errors.ts'
import { contentHash } from './hash.ts'
import { writing, type Table } from './lance.ts'
import { arrowTable, passageAt, stringAt, type Rows } from './rows.ts'
import type { SearchFilter } from './types.ts'

/** Ids of one `IN (...)`: keeps a condition well below a megabyte. */
const IDS_PER_QUERY = 2000

export const chunks = <T>(values: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size))

/** Adds rows whose ids are known to be absent: one commit, all or nothing. */
export const appendRows = async (table: Table, rows: Rows, dimension: number): Promise<void> => {
  await writing(table, () => table.add(arrowTable(rows, dimension)))
}

/**
 * Inserts rows, replacing those of the same ids: one commit, all or nothing.
 * @returns the table version that holds them.
 * @throws IndexError invalid_request if an id occurs twice.
 */
export const mergeRows = async (table: Table, rows: Rows, dimension: number): Promise<number> => {
  const ids = new Set<string>()
  for (const { id } of rows.passages) {
    if (ids.has(id)) throw new IndexError('invalid_request', `The id "${id}" occurs twice in one upsert: send each passage once.`, 'passages')
    ids.add(id)
  }
  const source = arrowTable(rows, dimension)
  const { version } = await writing(table, () => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source))
  return version
}

/** Deletes by ids or by a filter. @returns the number of passages deleted. @throws IndexError invalid_request for an empty filter. */
export const deleteRows = async (table: Table, which: readonly string[] | SearchFilter): Promise<number> => {
  const conditions = isIdList(which) ? chunks(which, IDS_PER_QUERY).map(sqlIds) : [wholeFilter(which)]
  let deleted = 0
  for (const condition of conditions) deleted += (await writing(table, () => table.delete(condition))).numDeletedRows
  return deleted
}

const isIdList = (which: readonly string[] | SearchFilter): which is readonly string[] => Array.isArray(which)

const wholeFilter = (filter: SearchFilter): string => {
  const condition = sqlFilter(filter)
  if (condition === undefined) throw new IndexError('invalid_request', 'The filter is empty and would delete everything: name a source or a title.', 'filter')
  return condition
}

/** Content hashes of those ids that are in the table; worked out from the content for rows older than the hash column. */
export const storedHashes = async (table: Table, ids: readonly string[]): Promise<Map<string, string>> => {
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
