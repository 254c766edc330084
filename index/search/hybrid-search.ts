import { at } from '../../base/at.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import type { Table } from '../table/lance.ts'
import type { TableMetadata } from '../table/metadata.ts'
import { passagesOf } from '../table/rows.ts'
import type { SearchHit, SearchOptions } from '../contract.ts'
import { DEFAULT_DENSE_WEIGHT, FUSED_DEPTH, fuseScores } from './hybrid.ts'
import { findByVector, findByWords, rowIdsOf, rowsByVector, rowsByWords, wholeHits } from './search.ts'

/** Query text and its vector. */
export interface HybridQuery {
  readonly query: string
  readonly vector: Float32Array
}

/**
 * Runs both searches concurrently and fuses their scores with the weight measured on the corpus. Fusion needs at least a hundred hits of
 * each search, of which k are returned: the searches read row numbers and scores only, and the k passages are read afterwards. Row numbers
 * are valid within a version of the table; if it has changed in between, the search is repeated with passages.
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

/** Reads passages by row number, in order; undefined if a row no longer exists. */
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
  const rowOf = new Map(Array.from({ length: taken.numRows }, (_, i) => [row(i), i]))
  if (rows.some(({ id }) => !rowOf.has(id))) return undefined
  const hits = rows.map(({ id, score }) => ({ ...passage(rowOf.get(id) ?? 0), score }))
  return hits.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).map((hit, i) => ({ ...hit, rank: at(rows, i).rank }))
}
