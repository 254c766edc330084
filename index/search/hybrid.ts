import { present, sum } from '../../base/at.ts'
import { type Columns, PASSAGE_COLUMNS, passagesOf, stringsOf } from '../table/rows.ts'
import type { Table } from '../table/lance.ts'
import type { TableMetadata } from '../table/metadata.ts'
import type { SearchHit, SearchOptions } from '../contract.ts'
import { findByVector, findByWords, type FoundNumber, numbersOnly, type ReadRows, rowIdsOf, wholeHits, withPassages } from './search.ts'
import { upTo, type FoundList } from './ties.ts'

/** Weight of dense search in tables that were not measured: those filled by single upserts or by earlier versions. */
export const DEFAULT_DENSE_WEIGHT = 0.4

/** Hits of each search whose scores are fused. Hits beyond them come after all of these, whatever their number. */
export const FUSED_DEPTH = 100

type Fused<Hit> = Hit & {
  /** Order among hits without a fused score: those beyond the fused ones by their scaled scores, which are negative. */
  readonly beyond: number
}

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
  const fused = async <Found extends FoundNumber>(read: ReadRows<Found>): Promise<Fused<Found>[]> => {
    const searches = [findByVector(read, table, ann, vector, { ...deeper, sure: k }), findByWords(read, table, query, deeper)] as const
    const [dense, text] = await Promise.all(searches)
    return fuseScores({ dense, text }, weight, k)
  }
  const version = await table.version()
  const rows = await fused(numbersOnly)
  if (rows.length === 0) return []
  const hits = await readHits(table, rows, k)
  if (hits !== undefined && (await table.version()) === version) return hits
  return wholeHits(await fused(withPassages), k)
}

/** Reads the first k passages by row number, in order of their ids where their scores are equal; undefined if a row no longer exists. */
async function readHits(table: Table, rows: readonly Fused<FoundNumber>[], k: number): Promise<SearchHit[] | undefined> {
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

/**
 * Convex combination of two searches' scores, each scaled from 0 to 1 (its best hit): `denseWeight * dense + (1 - denseWeight) * text`
 * (Bruch, Gai, Ingber, TOIS 2023). 0 is the score of the last fused hit; for words, where all passages with one of them were found, it is
 * no word at all. Unlike ranks, scores preserve by how much the best hits lead, so that a confident search outweighs the other.
 * @param lists hits of the dense and of the text search
 * @param denseWeight 0 to 1
 * @returns the k best, and all others that are equal to the last of these; their scores are the fused ones, 0 to 1
 */
export function fuseScores<Hit extends FoundNumber>(
  { dense, text }: { readonly dense: FoundList<Hit>; readonly text: FoundList<Hit> },
  denseWeight: number,
  k: number,
): Fused<Hit>[] {
  const sides = [side(dense.rows, denseWeight), side(text.rows, 1 - denseWeight, text.complete)] as const
  const all = new Map([...dense.rows, ...text.rows].map((hit) => [hit.id, hit]))
  const fused = [...all.values()].map((hit): Fused<Hit> => {
    const scores = sides.map(({ score }) => score(hit.id))
    const isFused = sides.some(({ isFused }) => isFused(hit.id))
    return { ...hit, score: sum(scores.map((score) => Math.max(0, score))), beyond: isFused ? 0 : sum(scores) }
  })
  return upTo(fused.sort(compareFused), k, (a, b) => a.score === b.score && a.beyond === b.beyond)
}

/** By score, then by id. */
function compareFused(a: Fused<FoundNumber>, b: Fused<FoundNumber>): number {
  return b.score - a.score || b.beyond - a.beyond || (a.id < b.id ? -1 : 1)
}

/** Weighted scores of one search: 0 for the last fused hit, negative beyond it, and for others as for the last one found. */
function side(rows: readonly FoundNumber[], weight: number, fromZero = false) {
  const fusedRows = upTo(rows, FUSED_DEPTH)
  const best = rows[0]?.score ?? 0
  const range = best - (fromZero ? 0 : (fusedRows.at(-1)?.score ?? 0))
  const scaled = (score: number): number => weight * (range > 0 ? (score - best + range) / range : 1)
  const scores = new Map(rows.map(({ id, score }) => [id, scaled(score)]))
  const last = rows.length > fusedRows.length ? scaled(rows.at(-1)?.score ?? 0) : 0
  const fused = new Set(fusedRows.map(({ id }) => id))
  return { score: (id: string) => scores.get(id) ?? last, isFused: (id: string) => fused.has(id) }
}
