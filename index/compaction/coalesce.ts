import { contentHash } from '../hash.ts'
import { halvesOf, PASSAGE_COLUMNS, passagesOf, type Rows } from '../table/rows.ts'
import { fragmentation } from './compact.ts'
import type { Table } from '../table/lance.ts'

/** Small files that make coalescing worthwhile: a search reads each (0.1 to 0.3 ms). Also the number of upserts between two checks. */
export const COALESCE_FILES = 8
/**
 * Most rows to coalesce: they are rewritten repeatedly until the next index update, and unindexed rows slow down text search whichever file
 * holds them.
 */
const MOST_ROWS = 64

/**
 * Returns the rows of small files, so that an upsert can write them into its own file. The caller must hold the writer lock, with the table
 * at its newest version.
 * @param without ids that are about to be written
 * @returns undefined if there is nothing to coalesce
 */
export async function coalesceSmallUpserts(table: Table, dimension: number, without: ReadonlySet<string>): Promise<Rows | undefined> {
  // Unindexed fragments are the last ones of the table.
  const left = Math.max(0, ...(await table.listIndices()).map(({ numUnindexedRows }) => numUnindexedRows ?? Infinity))
  if (left < COALESCE_FILES || left > MOST_ROWS || (await fragmentation(table)).surplus < COALESCE_FILES) return undefined
  const columns = [...PASSAGE_COLUMNS, 'vector']
  const found = await table
    .query()
    .select(columns)
    .offset((await table.countRows()) - left)
    .limit(left)
    .toArrow()
  const [passageAt, halvesAt] = [passagesOf(found), halvesOf(found)]
  const all = Array.from({ length: found.numRows }, (_, row) => ({ row, passage: passageAt(row) }))
  // A job repairs duplicate ids.
  if (new Set(all.map(({ passage }) => passage.id)).size < all.length) return undefined
  const kept = all.filter(({ passage }) => !without.has(passage.id))
  const halves = new Uint16Array(kept.length * dimension)
  for (const [i, { row }] of kept.entries()) halves.set(halvesAt(row), i * dimension)
  const passages = kept.map(({ passage }) => passage)
  return { passages, hashes: passages.map(contentHash), halves }
}

/** Concatenates rows. */
export function joinRows(a: Rows, b: Rows): Rows {
  const halves = new Uint16Array(a.halves.length + b.halves.length)
  halves.set(a.halves)
  halves.set(b.halves, a.halves.length)
  return { passages: [...a.passages, ...b.passages], hashes: [...a.hashes, ...b.hashes], halves }
}
