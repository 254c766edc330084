import { at } from '../../base/at.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import type { Table } from '../table/lance.ts'
import type { TableMetadata } from '../table/metadata.ts'
import { passagesOf } from '../table/rows.ts'
import type { SearchHit, SearchOptions } from '../contract.ts'
import { DEFAULT_DENSE_WEIGHT, FUSED_DEPTH, fuseScores } from './hybrid.ts'
import { findByVector, findByWords, rowIdsOf, rowsByVector, rowsByWords, wholeHits } from './search.ts'

/** What is asked: the words of a question, and its vector. */
export interface HybridQuery {
  readonly query: string
  readonly vector: Float32Array
}

/**
 * Both searches side by side, their scores fused with the weight that was measured on the corpus. Fusing looks at a hundred hits
 * of each search and more, of which k are given: so the searches read row numbers and scores only, and the passages of those
 * k are read afterwards. Row numbers hold within a version of the table; where it has changed meanwhile, the search is done once more
 * with whole passages.
 */
export async function searchHybrid(
  table: Table,
  { ann, hybrid }: Pick<TableMetadata, 'ann' | 'hybrid'>,
  { query, vector }: HybridQuery,
  options: SearchOptions,
): Promise<SearchHit[]> {
  const { k } = options
  const weight = hybrid?.denseWeight ?? DEFAULT_DENSE_WEIGHT
  const deeper = { ...options, k: Math.max(FUSED_DEPTH, k) }
  const version = await table.version()
  const [dense, text] = await Promise.all([rowsByVector(table, ann, vector, { ...deeper, sure: k }), rowsByWords(table, query, deeper)])
  const hits = await passagesIn(table, fuseScores({ dense, text }, weight, k))
  if (hits !== undefined && (await table.version()) === version) return hits
  const [vectors, words] = await Promise.all([findByVector(table, ann, vector, { ...deeper, sure: k }), findByWords(table, query, deeper)])
  return wholeHits(fuseScores({ dense: vectors, text: words }, weight, k))
}

/** The passages in rows, in their order; undefined where a row is not there any more. */
async function passagesIn(
  table: Table,
  rows: readonly { readonly id: string; readonly score: number; readonly rank: number }[],
): Promise<SearchHit[] | undefined> {
  if (rows.length === 0) return []
  const taken = await table
    .takeRowIds(rows.map(({ id }) => BigInt(id)))
    .select([...PASSAGE_COLUMNS])
    .withRowId()
    .toArrow()
  const [row, passage] = [rowIdsOf(taken), passagesOf(taken)]
  const places = new Map(Array.from({ length: taken.numRows }, (_, place) => [row(place), place]))
  if (rows.some(({ id }) => !places.has(id))) return undefined
  const hits = rows.map(({ id, score }) => ({ ...passage(places.get(id) ?? 0), score }))
  return hits.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).map((hit, i) => ({ ...hit, rank: at(rows, i).rank }))
}
