import { sqlFilter } from './filter.ts'
import { MultiMatchQuery, type Table } from '../table/lance.ts'
import { RECALL_AT, type AnnSettings } from '../table/metadata.ts'
import { PASSAGE_COLUMNS, TEXT_COLUMNS } from '../table/columns.ts'
import { passageAt, stringAt, type Columns } from '../table/rows.ts'
import type { Passage, SearchHit, SearchOptions } from '../contract.ts'

type Scored = Passage & { readonly score: number }

function ranked(hits: readonly Scored[]): SearchHit[] {
  return [...hits].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).map((hit, i) => ({ ...hit, rank: i + 1 }))
}

function scoredRows(result: Columns, score: (row: number) => number): Scored[] {
  return Array.from({ length: result.numRows }, (_, row) => ({ ...passageAt(result, row), score: score(row) }))
}

function numberAt(result: Columns, column: string, row: number): number {
  return Number(result.getChild(column)?.get(row))
}

/**
 * The k passages of the largest dot product. LanceDB's `_distance` is 1 - dot, exact after refinement with the stored
 * float16 vectors. Always names the distance: another one than the index's would scan everything.
 */
export async function searchVector(
  table: Table,
  ann: AnnSettings | undefined,
  vector: Float32Array,
  options: SearchOptions,
): Promise<SearchHit[]> {
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
  return ranked(scoredRows(result, (row) => 1 - numberAt(result, '_distance', row)))
}

/** Ids and dot products of the k nearest passages of each vector, best first, by one scan of the table. At least one vector. */
export async function searchExactly(
  table: Table,
  vectors: readonly Float32Array[],
  k: number,
): Promise<{ readonly id: string; readonly score: number }[][]> {
  const [first = new Float32Array(), ...others] = vectors
  const start = table.query().nearestTo(first).column('vector').distanceType('dot').limit(k).bypassVectorIndex().select(['id', '_distance'])
  const result = await others.reduce((query, vector) => query.addQueryVector(vector), start).toArrow()
  const lists = vectors.map((): { id: string; score: number }[] => [])
  for (let row = 0; row < result.numRows; row++) {
    lists[others.length === 0 ? 0 : numberAt(result, 'query_index', row)]?.push({
      id: stringAt(result, 'id', row),
      score: 1 - numberAt(result, '_distance', row),
    })
  }
  return lists.map((hits) => hits.sort((a, b) => b.score - a.score))
}

/** The k passages of the highest BM25 score of the query's words in text and title: the field's lexical baseline. */
export async function searchWords(table: Table, query: string, options: SearchOptions): Promise<SearchHit[]> {
  let search = table
    .query()
    .fullTextSearch(new MultiMatchQuery(query, [...TEXT_COLUMNS]))
    .limit(options.k)
    .select([...PASSAGE_COLUMNS, '_score'])
  const where = sqlFilter(options.filter)
  if (where !== undefined) search = search.where(where)
  const result = await search.toArrow()
  return ranked(scoredRows(result, (row) => numberAt(result, '_score', row)))
}
