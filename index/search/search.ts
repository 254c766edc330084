import { sqlFilter } from './filter.ts'
import { MatchQuery, type Query, type Table, type VectorQuery } from '../table/lance.ts'
import { RECALL_AT, type AnnSettings } from '../table/metadata.ts'
import { type Columns, PASSAGE_COLUMNS, passagesOf, stringsOf, TEXT_COLUMNS } from '../table/rows.ts'
import { MARGIN, upTo, withTies, type FoundList } from './ties.ts'
import type { Passage, SearchHit, SearchOptions } from '../contract.ts'

/** A found row. Its passage is read on demand: fusion ranks many more hits than are returned. */
export interface FoundRow {
  readonly id: string
  readonly score: number
  readonly passage: () => Passage
}

/** Reads the passages of rows, in order. */
export function wholeHits(rows: readonly FoundRow[]): SearchHit[] {
  return rows.map(({ passage, score }, i) => ({ ...passage(), score, rank: i + 1 }))
}

/** A found row, by its number within the table's version. */
export interface FoundNumber {
  /** The row's number. */
  readonly id: string
  readonly score: number
}

/** The rows of a result, best first. */
function ranked(result: Columns, score: (row: number) => number): FoundRow[] {
  const id = stringsOf(result, 'id')
  const passage = passagesOf(result)
  const rows = Array.from({ length: result.numRows }, (_, row) => ({ id: id(row), score: score(row), passage: () => passage(row) }))
  return inOrder(rows)
}

/** {@link ranked} for a result with row numbers in place of passages. */
function rankedNumbers(result: Columns, score: (row: number) => number): FoundNumber[] {
  const id = rowIdsOf(result)
  return inOrder(Array.from({ length: result.numRows }, (_, row) => ({ id: id(row), score: score(row) })))
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

export interface VectorSearchOptions extends SearchOptions {
  /** Number of best hits found with the measured recall; beyond it more may be missed. All k if absent. */
  readonly sure?: number
}

/**
 * Finds the k passages with the largest dot product, and all others that score as the last of them. LanceDB's `_distance` is 1 - dot, exact
 * after refinement with the stored float16 vectors.
 */
export async function findByVector(...[table, ann, vector, options]: VectorSearch): Promise<FoundList<FoundRow>> {
  return withTies(options.k, async (k) => {
    const result = await vectorQuery(table, ann, vector, { sure: options.k, ...options, k })
      .select([...PASSAGE_COLUMNS, '_distance'])
      .toArrow()
    return ranked(result, similarityOf(result))
  })
}

/** {@link findByVector}, without reading the passages. */
export async function rowsByVector(...[table, ann, vector, options]: VectorSearch): Promise<FoundList<FoundNumber>> {
  return withTies(options.k, async (k) => {
    const result = await vectorQuery(table, ann, vector, { sure: options.k, ...options, k })
      .withRowId()
      .select(['_distance', '_rowid'])
      .toArrow()
    return rankedNumbers(result, similarityOf(result))
  })
}

type VectorSearch = [table: Table, ann: AnnSettings | undefined, vector: Float32Array, options: VectorSearchOptions]

/** Always sets the distance type: one that differs from the index's would scan everything. */
function vectorQuery(...[table, ann, vector, { k, sure = k, filter }]: VectorSearch): VectorQuery {
  let query = table.query().nearestTo(vector).column('vector').distanceType('dot').limit(k)
  const where = sqlFilter(filter)
  if (where !== undefined) query = query.where(where)
  if (ann === undefined) query = query.bypassVectorIndex()
  else {
    query = query.nprobes(ann.nprobes).refineFactor(refineFactor(ann, k, sure))
    // A narrow filter leaves few rows per partition: read further partitions until k are found.
    if (where !== undefined) query = query.maximumNprobes(ann.partitions)
  }
  return query
}

function similarityOf(result: Columns): (row: number) => number {
  const distance = numbersOf(result, '_distance')
  return (row) => 1 - distance(row)
}

/** {@link findByVector} with whole passages. */
export async function searchVector(...search: VectorSearch): Promise<SearchHit[]> {
  const { rows } = await findByVector(...search)
  return wholeHits(rows.slice(0, search[3].k))
}

/** A row's number within the table's version, and its id. */
export interface ExactRow {
  readonly row: string
  readonly id: string
  readonly score: number
}

/** Rows of the k nearest passages of each vector, best first, by one scan of the table. Requires at least one vector. */
export async function searchExactly(table: Table, vectors: readonly Float32Array[], k: number): Promise<ExactRow[][]> {
  const [first = new Float32Array(), ...others] = vectors
  const start = table
    .query()
    .nearestTo(first)
    .column('vector')
    .distanceType('dot')
    .limit(k)
    .bypassVectorIndex()
    .withRowId()
    .select(['id', '_distance', '_rowid'])
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

/** Row numbers of a result within the table's version. */
export function rowIdsOf(result: Columns): (row: number) => string {
  const values = result.getChild('_rowid')
  return (row) => String(values?.get(row))
}

/**
 * The k nearest rows by the codes of the vector index alone, best first: the candidates of a search. Reads neither vectors nor passages,
 * which in an object store would be most of the cost.
 */
export async function findCandidates(table: Table, nprobes: number, vector: Float32Array, k: number): Promise<string[]> {
  const query = table.query().nearestTo(vector).column('vector').distanceType('dot').limit(k).nprobes(nprobes)
  const result = await query.withRowId().select(['_distance', '_rowid']).toArrow()
  return Array.from({ length: result.numRows }, (_, row) => rowIdsOf(result)(row))
}

/**
 * The k passages with the highest BM25 score of the query's words in text or title, whichever is higher. LanceDB's MultiMatchQuery is
 * equivalent, but after the first replaced or deleted row it scores every row that contains one of the words: 600 ms at 21 million
 * passages, where one query per column takes 16 ms. The k best of either contain the k best overall.
 */
export async function findByWords(table: Table, query: string, options: SearchOptions): Promise<FoundList<FoundRow>> {
  return bestOfColumns(options.k, async (column, k) => {
    const result = await wordQuery(table, new MatchQuery(query.normalize(), column), { ...options, k })
      .select([...PASSAGE_COLUMNS, '_score'])
      .toArrow()
    return ranked(result, numbersOf(result, '_score'))
  })
}

/** {@link findByWords}, without reading the passages. */
export async function rowsByWords(table: Table, query: string, options: SearchOptions): Promise<FoundList<FoundNumber>> {
  return bestOfColumns(options.k, async (column, k) => {
    const match = new MatchQuery(query.normalize(), column)
    const result = await wordQuery(table, match, { ...options, k })
      .withRowId()
      .select(['_score', '_rowid'])
      .toArrow()
    return rankedNumbers(result, numbersOf(result, '_score'))
  })
}

async function bestOfColumns<Found extends FoundNumber>(
  k: number,
  search: (column: string, k: number) => Promise<Found[]>,
): Promise<FoundList<Found>> {
  const lists = await Promise.all(TEXT_COLUMNS.map((column) => withTies(k, (limit) => search(column, limit))))
  const best = new Map<string, Found>()
  for (const row of lists.flatMap(({ rows }) => rows)) if (row.score > (best.get(row.id)?.score ?? -Infinity)) best.set(row.id, row)
  const rows = upTo(inOrder([...best.values()]), k)
  return { rows, complete: rows.length === best.size && lists.every(({ complete }) => complete) }
}

function wordQuery(table: Table, match: MatchQuery, { k, filter }: SearchOptions): Query {
  const where = sqlFilter(filter)
  const search = table.query().fullTextSearch(match).limit(k)
  return where === undefined ? search : search.where(where)
}

/** {@link findByWords} with whole passages. */
export async function searchWords(...search: Parameters<typeof findByWords>): Promise<SearchHit[]> {
  const { rows } = await findByWords(...search)
  return wholeHits(rows.slice(0, search[2].k))
}
