import { invalidField, invalidIndex } from '../base/errors.ts'
import { searchHybrid } from './search/hybrid.ts'
import { searchVector, searchWords } from './search/search.ts'
import type { Table } from './table/lance.ts'
import type { Live, LiveTexts } from './versions/live-table.ts'
import type { EmbeddingModel, SearchHit, SearchOptions } from './contract.ts'

const MAX_K = 1000

/**
 * The table behind a name at one moment: one question uses one view, even if the table is replaced in between.
 * @param name public name of the table
 * @param reading runs a read and maps its errors to their causes
 */
export function viewOf(name: string, { table, metadata, model }: Live, reading: <T>(work: () => Promise<T>) => Promise<T>) {
  return {
    /** Model of the table's vectors: only its embeddings can be compared with them. */
    model,
    /** The k passages with the largest dot product with `vector`, best first. */
    search: async (vector: Float32Array, options: SearchOptions): Promise<SearchHit[]> => {
      check(options, model, vector)
      return reading(() => searchVector(table, metadata.ann, vector, options))
    },
    /** The k passages with the highest BM25 score, best first. */
    searchText: async (query: string, options: SearchOptions): Promise<SearchHit[]> => {
      check(options, model)
      return reading(() => searchWords(table, query, options))
    },
    /** Both searches, fused with the weight measured on the corpus; scores are the fused ones, 0 to 1. */
    searchHybrid: async (query: string, vector: Float32Array, options: SearchOptions): Promise<SearchHit[]> => {
      check(options, model, vector)
      return reading(() => searchHybrid(table, metadata, { query, vector }, options))
    },
    version: () => reading(() => versionOf(name, table)),
  }
}
export type TableView = ReturnType<typeof viewOf>

/** Name, version and size of what is being searched. @param name public name of the table */
export async function versionOf(name: string, table: Table) {
  const [version, passages] = await Promise.all([table.version(), table.countRows()])
  return { table: name, version, passages }
}
export type TableVersion = Awaited<ReturnType<typeof versionOf>>

/** Full information on a live table. @param name public name of the table */
export async function infoOf(name: string, { table, metadata }: LiveTexts) {
  const [version, rows, indices] = await Promise.all([table.version(), table.countRows(), table.listIndices()])
  const indexOf = (column: string) => indices.find(({ columns }) => columns.includes(column))
  const vectorIndex = indexOf('vector')
  const unindexed = vectorIndex && (await table.indexStats(vectorIndex.name))?.numUnindexedRows
  const { ann, dimension, model, schemaVersion } = metadata
  return {
    table: name,
    storedAs: table.storedAs,
    /** LanceDB's version number; grows with every commit. */
    version,
    rows,
    dimension,
    model,
    schemaVersion,
    /** `exact`: every vector is compared; `ivf_rq`: inverted lists with RaBitQ codes, best candidates refined with the stored vectors. */
    kind: ann === undefined ? ('exact' as const) : ('ivf_rq' as const),
    /** Partitions read per query; 0 for an exact scan. */
    nprobes: ann?.nprobes ?? 0,
    /** Candidates refined per hit wanted; 0 for an exact scan. */
    refine: ann?.refine ?? 0,
    /** recall@10 measured when the settings were chosen; null for an exact scan. */
    recall: ann?.recall ?? null,
    /** The same if questions were the queries; null if stored vectors were. */
    questionRecall: ann?.questionRecall ?? null,
    /** Rows not covered by the vector index yet; they are scanned exactly. */
    unindexedRows: unindexed ?? rows,
    fullText: indexOf('text') !== undefined,
  }
}
export type IndexInfo = Awaited<ReturnType<typeof infoOf>>

function check({ k }: SearchOptions, { id, dimension }: EmbeddingModel, vector?: Float32Array): void {
  if (!Number.isInteger(k) || k < 1 || k > MAX_K) throw invalidField('k', `is ${k}; it must be 1 to ${MAX_K}`)
  if (vector === undefined) return
  if (vector.length !== dimension)
    throw invalidIndex('vector', `The question's vector has ${vector.length} numbers, the index's have ${dimension}: embed it with ${id}.`)
  if (!vector.every(Number.isFinite))
    throw invalidIndex('vector', "The question's vector holds NaN or infinite numbers: check the embedding model.")
}
