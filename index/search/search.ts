import { sqlFilter } from './filter.ts'
import { MatchQuery, type Table } from '../table/lance.ts'
import { RECALL_AT, type AnnSettings } from '../table/metadata.ts'
import { PASSAGE_COLUMNS, TEXT_COLUMNS } from '../table/columns.ts'
import { passagesOf, stringsOf, type Columns } from '../table/rows.ts'
import type { Passage, SearchHit, SearchOptions } from '../contract.ts'

/** A row that a search found. Its passage is read where it is wanted: fusing looks at many more hits than it gives. */
export interface FoundRow {
  readonly id: string
  readonly score: number
  readonly passage: () => Passage
}

/** Rows with their passages, in their order. */
export function wholeHits(rows: readonly FoundRow[]): SearchHit[] {
  return rows.map(({ passage, score }, i) => ({ ...passage(), score, rank: i + 1 }))
}

/** The rows of a result, best first. */
function ranked(result: Columns, score: (row: number) => number): FoundRow[] {
  const id = stringsOf(result, 'id')
  const passage = passagesOf(result)
  const rows = Array.from({ length: result.numRows }, (_, row) => ({ id: id(row), score: score(row), passage: () => passage(row) }))
  return inOrder(rows)
}

/** By their scores, and where these are equal by their ids. */
function inOrder(rows: FoundRow[]): FoundRow[] {
  return rows.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
}

function numbersOf(result: Columns, column: string): (row: number) => number {
  const values = result.getChild(column)
  return (row) => Number(values?.get(row))
}

/**
 * The k passages of the largest dot product. LanceDB's `_distance` is 1 - dot, exact after refinement with the stored
 * float16 vectors. Always names the distance: another one than the index's would scan everything.
 */
export async function findByVector(
  table: Table,
  ann: AnnSettings | undefined,
  vector: Float32Array,
  options: SearchOptions,
): Promise<FoundRow[]> {
  let query = table
    .query()
    .nearestTo(vector)
    .column('vector')
    .distanceType('dot')
    .limit(options.k)
    .select([...PASSAGE_COLUMNS, '_distance'])
  const where = sqlFilter(options.filter)
  if (where !== undefined) query = query.where(where)
  if (ann === undefined) query = query.bypassVectorIndex()
  else {
    // For few hits, as many candidates as recall was measured with: those of ten and the query's own passage.
    query = query.nprobes(ann.nprobes).refineFactor(Math.ceil((ann.refine * Math.max(RECALL_AT + 1, options.k)) / options.k))
    // A narrow filter leaves few rows per partition: read on until k are found.
    if (where !== undefined) query = query.maximumNprobes(ann.partitions)
  }
  const result = await query.toArrow()
  const distance = numbersOf(result, '_distance')
  return ranked(result, (row) => 1 - distance(row))
}

/** {@link findByVector} with whole passages. */
export async function searchVector(...search: Parameters<typeof findByVector>): Promise<SearchHit[]> {
  return wholeHits(await findByVector(...search))
}

/** A row by its number within the table's version, and its id. */
export interface ExactRow {
  readonly row: string
  readonly id: string
  readonly score: number
}

/** The rows of the k nearest passages of each vector, best first, by one scan of the table. At least one vector. */
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

function rowIdsOf(result: Columns): (row: number) => string {
  const values = result.getChild('_rowid')
  return (row) => String(values?.get(row))
}

/**
 * The k rows that the vector index takes for the nearest, by its codes alone, best first: the candidates that a search would
 * refine. Neither vectors nor passages are read, which from an object store would be most of the work.
 */
export async function findCandidates(table: Table, nprobes: number, vector: Float32Array, k: number): Promise<string[]> {
  const query = table.query().nearestTo(vector).column('vector').distanceType('dot').limit(k).nprobes(nprobes)
  const result = await query.withRowId().select(['_distance', '_rowid']).toArrow()
  return Array.from({ length: result.numRows }, (_, row) => rowIdsOf(result)(row))
}

/**
 * The k passages of the highest BM25 score of the query's words in text or title, whichever is higher: the field's lexical baseline.
 * LanceDB's MultiMatchQuery means the same, but from the first row on that was replaced or deleted it scores every row that holds one
 * of the words: 600 ms at 21 million passages, where a query for each column takes 16 ms. The k best of either are all that can be among the k best.
 */
export async function findByWords(table: Table, query: string, options: SearchOptions): Promise<FoundRow[]> {
  const lists = await Promise.all(TEXT_COLUMNS.map((column) => findInColumn(table, new MatchQuery(query, column), options)))
  const best = new Map<string, FoundRow>()
  for (const row of lists.flat()) if (row.score > (best.get(row.id)?.score ?? -Infinity)) best.set(row.id, row)
  return inOrder([...best.values()]).slice(0, options.k)
}

async function findInColumn(table: Table, match: MatchQuery, { k, filter }: SearchOptions): Promise<FoundRow[]> {
  const where = sqlFilter(filter)
  const search = table
    .query()
    .fullTextSearch(match)
    .limit(k)
    .select([...PASSAGE_COLUMNS, '_score'])
  const result = await (where === undefined ? search : search.where(where)).toArrow()
  return ranked(result, numbersOf(result, '_score'))
}

/** {@link findByWords} with whole passages. */
export async function searchWords(...search: Parameters<typeof findByWords>): Promise<SearchHit[]> {
  return wholeHits(await findByWords(...search))
}
