import { contentHash } from '../hash.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import { fragmentation } from './compact.ts'
import type { Table } from '../table/lance.ts'
import { halvesOf, passagesOf, type Rows } from '../table/rows.ts'

/** Small files that make it worth while: a search looks into each (0.1 to 0.3 ms). Also how many upserts pass between two looks. */
export const COALESCE_FILES = 8
/** Most rows that are rewritten again and again before an index update: rows that no index covers slow the search by words, whichever files they lie in. */
const MOST_ROWS = 64

/**
 * The rows of upserts of a few passages, where many small files hold them: an upsert that takes them along leaves all in one file. The caller must hold the writer lock,
 * with the table at its newest version.
 * @param without ids that are about to be written
 * @returns undefined if there is nothing to coalesce
 */
export async function coalesceSmallUpserts(table: Table, dimension: number, without: ReadonlySet<string>): Promise<Rows | undefined> {
  // The files that no index covers are the table's last.
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
  // Software without turns may have left several rows of one id: a job repairs them.
  if (new Set(all.map(({ passage }) => passage.id)).size < all.length) return undefined
  const kept = all.filter(({ passage }) => !without.has(passage.id))
  const halves = new Uint16Array(kept.length * dimension)
  for (const [i, { row }] of kept.entries()) halves.set(halvesAt(row), i * dimension)
  const passages = kept.map(({ passage }) => passage)
  return { passages, hashes: passages.map(contentHash), halves }
}

/** Rows one after the other. */
export function joinRows(a: Rows, b: Rows): Rows {
  const halves = new Uint16Array(a.halves.length + b.halves.length)
  halves.set(a.halves)
  halves.set(b.halves, a.halves.length)
  return { passages: [...a.passages, ...b.passages], hashes: [...a.hashes, ...b.hashes], halves }
}
