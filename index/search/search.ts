import { filtered, sqlFilter } from './filter.ts'
import { MatchQuery, type Query, type Table, type VectorQuery } from '../table/lance.ts'
import { RECALL_AT, type AnnSettings } from '../table/metadata.ts'
import { type Columns, PASSAGE_COLUMNS, passagesOf, stringsOf, TEXT_COLUMNS } from '../table/rows.ts'
import { MARGIN, upTo, withTies, type FoundList } from './ties.ts'
import type { Passage, SearchHit, SearchOptions } from '../contract.ts'

/** A found row. Its passage is read on demand: fusion ranks many more hits than are returned. */
interface FoundRow {
  readonly id: string
  readonly score: number
  readonly passage: () => Passage
}

/** Returns the whole passages of the first k rows. */
export function wholeHits(rows: readonly FoundRow[], k: number): SearchHit[] {
  return rows.slice(0, k).map(({ passage, score }, i) => ({ ...passage(), score, rank: i + 1 }))
}

/** A found row, by its number within the table's version. */
export type FoundNumber = Omit<FoundRow, 'passage'>

/** Runs a query and returns its rows, best first. `score` names the column with their scores or distances. */
export type ReadRows<Found> = (query: Query | VectorQuery, score: '_score' | '_distance') => Promise<Found[]>

export const withPassages: ReadRows<FoundRow> = async (query, score) => {
  const result: Columns = await query.select([...PASSAGE_COLUMNS, score]).toArrow()
  const [id, passage, scores] = [stringsOf(result, 'id'), passagesOf(result), scoresOf(result, score)]
  return inOrder(Array.from({ length: result.numRows }, (_, row) => ({ id: id(row), score: scores(row), passage: () => passage(row) })))
}

/** Reads row numbers only: in an object store, reading passages would be most of the cost. */
export const numbersOnly: ReadRows<FoundNumber> = async (query, score) => {
  const result: Columns = await query.withRowId().select([score, '_rowid']).toArrow()
  const [id, scores] = [rowIdsOf(result), scoresOf(result, score)]
  return inOrder(Array.from({ length: result.numRows }, (_, row) => ({ id: id(row), score: scores(row) })))
}

/** LanceDB's `_distance` is 1 - dot product, exact after refinement with the stored float16 vectors. */
function scoresOf(result: Columns, column: '_score' | '_distance'): (row: number) => number {
  const values = numbersOf(result, column)
  return column === '_distance' ? (row) => 1 - values(row) : values
}

/** Sorts by score, then by id. */
function inOrder<Found extends FoundNumber>(rows: Found[]): Found[] {
  return rows.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
}

function numbersOf(result: Columns, column: string): (row: number) => number {
  const values = result.getChild(column)
  return (row) => Number(values?.get(row))
}

/** Candidates per hit if many hits only serve to scale scores. */
const LEAST_FACTOR = 2

/**
 * Candidates that LanceDB refines for each of k hits, so that the first `sure` have the measured recall. Few hits use as many candidates as
 * the measurement: those of ten and the query's own passage.
 */
export function refineFactor({ refine }: Pick<AnnSettings, 'refine'>, k: number, sure: number): number {
  return Math.ceil(Math.max(refine * Math.max(RECALL_AT + 1, sure), Math.min(refine, LEAST_FACTOR) * k) / k)
}

/** Candidates that are refined for the k best rows. */
export function candidatesOf(settings: Pick<AnnSettings, 'refine'>, k: number): number {
  const limit = k + MARGIN
  return limit * refineFactor(settings, limit, k)
}

interface VectorSearchOptions extends SearchOptions {
  /** Number of best hits found with the measured recall; beyond it more may be missed. All k if absent. */
  readonly sure?: number
}

/** Finds the k rows with the largest dot product, and all others that score as the last of them. */
export function findByVector<Found extends FoundNumber>(...[read, table, ann, vector, options]: [ReadRows<Found>, ...VectorSearch]) {
  return withTies(options.k, (k) => read(vectorQuery(table, ann, vector, { sure: options.k, ...options, k }), '_distance'))
}

type VectorSearch = [table: Table, ann: AnnSettings | undefined, vector: Float32Array, options: VectorSearchOptions]

/** Always sets the distance type: one that differs from the index's would scan everything. */
function nearest(table: Table, vector: Float32Array, k: number): VectorQuery {
  return table.query().nearestTo(vector).column('vector').distanceType('dot').limit(k)
}

function vectorQuery(...[table, ann, vector, { k, sure = k, filter }]: VectorSearch): VectorQuery {
  const where = sqlFilter(filter)
  const whole = nearest(table, vector, k)
  const query = where === undefined ? whole : whole.where(where)
  if (ann === undefined) return query.bypassVectorIndex()
  const approximate = query.nprobes(ann.nprobes).refineFactor(refineFactor(ann, k, sure))
  // A narrow filter leaves few rows per partition: read further partitions until k are found.
  return where === undefined ? approximate : approximate.maximumNprobes(ann.partitions)
}

/** {@link findByVector} with whole passages. */
export async function searchVector(...search: VectorSearch): Promise<SearchHit[]> {
  const { rows } = await findByVector(withPassages, ...search)
  return wholeHits(rows, search[3].k)
}

/** A row's number within the table's version, and its id. */
interface ExactRow extends Omit<FoundRow, 'passage'> {
  readonly row: string
}

/** Rows of the k nearest passages of each vector, best first, by one scan of the table. Requires at least one vector. */
export async function searchExactly(table: Table, vectors: readonly Float32Array[], k: number): Promise<ExactRow[][]> {
  const [first = new Float32Array(), ...others] = vectors
  const start = nearest(table, first, k).bypassVectorIndex().withRowId().select(['id', '_distance', '_rowid'])
  const result = await others.reduce((query, vector) => query.addQueryVector(vector), start).toArrow()
  const lists = vectors.map((): ExactRow[] => [])
  const [id, row, distance, query] = [
    stringsOf(result, 'id'),
    rowIdsOf(result),
    numbersOf(result, '_distance'),
    numbersOf(result, 'query_index'),
  ]
  for (let at = 0; at < result.numRows; at++) {
    lists[others.length === 0 ? 0 : query(at)]?.push({ row: row(at), id: id(at), score: 1 - distance(at) })
  }
  return lists.map((hits) => hits.sort((a, b) => b.score - a.score))
}

/** Numbers of the k nearest rows by the codes of the vector index alone, best first: the candidates of a search. Reads no vectors. */
export async function findCandidates(table: Table, nprobes: number, vector: Float32Array, k: number): Promise<string[]> {
  return (await numbersOnly(nearest(table, vector, k).nprobes(nprobes), '_distance')).map(({ id }) => id)
}

/**
 * Finds the k rows with the highest BM25 score of the query's words in text or title, whichever is higher. LanceDB's MultiMatchQuery is
 * equivalent, but after the first replaced or deleted row it scores every row that contains one of the words: 600 ms at 21 million
 * passages, where one query per column takes 16 ms. The k best of either contain the k best overall.
 */
export async function findByWords<Found extends FoundNumber>(
  read: ReadRows<Found>,
  table: Table,
  query: string,
  { k, filter }: SearchOptions,
): Promise<FoundList<Found>> {
  const inColumn = (column: string) => (limit: number) =>
    read(filtered(table.query().fullTextSearch(new MatchQuery(query.normalize(), column)).limit(limit), filter), '_score')
  const lists = await Promise.all(TEXT_COLUMNS.map((column) => withTies(k, inColumn(column))))
  const best = new Map<string, Found>()
  for (const row of lists.flatMap(({ rows }) => rows)) if (row.score > (best.get(row.id)?.score ?? -Infinity)) best.set(row.id, row)
  const rows = upTo(inOrder([...best.values()]), k)
  return { rows, complete: rows.length === best.size && lists.every(({ complete }) => complete) }
}

/** {@link findByWords} with whole passages. */
export async function searchWords(table: Table, query: string, options: SearchOptions): Promise<SearchHit[]> {
  const { rows } = await findByWords(withPassages, table, query, options)
  return wholeHits(rows, options.k)
}

/** Row numbers of a result within the table's version. */
export function rowIdsOf(result: Columns): (row: number) => string {
  const values = result.getChild('_rowid')
  return (row) => String(values?.get(row))
}
