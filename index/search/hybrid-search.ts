import { present } from '../../base/at.ts'
import { type Columns, PASSAGE_COLUMNS, passagesOf, stringsOf } from '../table/rows.ts'
import type { Table } from '../table/lance.ts'
import type { TableMetadata } from '../table/metadata.ts'
import type { SearchHit, SearchOptions } from '../contract.ts'
import { compareFused, DEFAULT_DENSE_WEIGHT, FUSED_DEPTH, fuseScores, type Fused } from './hybrid.ts'
import { findByVector, findByWords, rowIdsOf, rowsByVector, rowsByWords, wholeHits, type FoundNumber } from './search.ts'

/**
 * Runs both searches concurrently and fuses their scores with the weight measured on the corpus. Fusion needs at least a hundred hits of
 * each search, of which k are returned: the searches read row numbers and scores only, and the k passages are read afterwards. Row numbers
 * are valid within a version of the table; if it has changed in between, the search is repeated with passages.
 */
export async function searchHybrid(
  table: Table,
  { ann, hybrid }: Pick<TableMetadata, 'ann' | 'hybrid'>,
  { query, vector }: { readonly query: string; readonly vector: Float32Array },
  options: SearchOptions,
): Promise<SearchHit[]> {
  const { k } = options
  const weight = hybrid?.denseWeight ?? DEFAULT_DENSE_WEIGHT
  const deeper = { ...options, k: Math.max(FUSED_DEPTH, k) }
  const version = await table.version()
  const [dense, text] = await Promise.all([rowsByVector(table, ann, vector, { ...deeper, sure: k }), rowsByWords(table, query, deeper)])
  const rows = fuseScores({ dense, text }, weight, k)
  if (rows.length === 0) return []
  const hits = await passagesIn(table, rows, k)
  if (hits !== undefined && (await table.version()) === version) return hits
  const [vectors, words] = await Promise.all([findByVector(table, ann, vector, { ...deeper, sure: k }), findByWords(table, query, deeper)])
  return wholeHits(fuseScores({ dense: vectors, text: words }, weight, k).slice(0, k))
}

/** Reads the first k passages by row number, in order of their ids where their scores are equal; undefined if a row no longer exists. */
async function passagesIn(table: Table, rows: readonly Fused<FoundNumber>[], k: number): Promise<SearchHit[] | undefined> {
  const chosen = rows.length > k ? await firstById(table, rows, k) : rows
  const read = chosen && (await readRows(table, chosen, PASSAGE_COLUMNS))
  if (chosen === undefined || read === undefined) return undefined
  const passage = passagesOf(read.columns)
  const hits = chosen.map(({ id, score, beyond }) => ({ ...passage(read.placeOf(id)), score, beyond }))
  return hits.sort(compareFused).map(({ beyond: _, ...hit }, i) => ({ ...hit, rank: i + 1 }))
}

/** The first k rows where several are equal to the k-th: reads their ids alone. */
async function firstById(table: Table, rows: readonly Fused<FoundNumber>[], k: number): Promise<Fused<FoundNumber>[] | undefined> {
  const read = await readRows(table, rows, ['id'])
  if (read === undefined) return undefined
  const id = stringsOf(read.columns, 'id')
  const keyed = rows.map((row) => ({ row, key: { ...row, id: id(read.placeOf(row.id)) } }))
  return keyed
    .sort((a, b) => compareFused(a.key, b.key))
    .slice(0, k)
    .map(({ row }) => row)
}

async function readRows(table: Table, rows: readonly FoundNumber[], columns: readonly string[]) {
  const taken: Columns = await table
    .takeRowIds(rows.map(({ id }) => BigInt(id)))
    .select([...columns])
    .withRowId()
    .toArrow()
  const row = rowIdsOf(taken)
  const places = new Map(Array.from({ length: taken.numRows }, (_, i) => [row(i), i]))
  return rows.every(({ id }) => places.has(id)) ? { columns: taken, placeOf: (id: string) => present(places.get(id)) } : undefined
}
