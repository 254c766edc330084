import { performance } from 'node:perf_hooks'
import type { SearchFilter, SearchHit } from '../../index/contract.ts'
import { modelId } from '../../models/manifest.ts'
import { embedderOf, type Embedder, type Embedders, type RunOptions } from '../inference/contract.ts'
import type { Method, SearchRequest, SearchResponse } from './schema.ts'
import { roundedMs } from './timings.ts'

/** Table and version that a search saw. */
export interface IndexVersion {
  readonly table: string
  readonly version: number
  readonly passages: number
}

/** A table at one moment, as far as retrieval needs it. */
export interface SearchedTable {
  /** Only what this model embeds can be compared with the table's vectors. */
  readonly model: { readonly id: string }
  search(vector: Float32Array, options: { k: number; filter?: SearchFilter }): Promise<SearchHit[]>
  /** BM25. */
  searchText(query: string, options: { k: number; filter?: SearchFilter }): Promise<SearchHit[]>
  /** Dense and BM25 lists, their scores fused. */
  searchHybrid(query: string, vector: Float32Array, options: { k: number; filter?: SearchFilter }): Promise<SearchHit[]>
  version(): Promise<IndexVersion>
}

/** What retrieval needs of an index. */
export interface PassageSource {
  /** The table that is searched now. */
  view(): Promise<SearchedTable>
}

export interface Retriever extends Embedders {
  readonly index: PassageSource
  /** How passages are searched where a request does not say; dense where the setting is absent. */
  readonly method?: Method
}

export interface RetrievalTimings {
  readonly embed: number
  readonly retrieve: number
}

export interface Retrieved {
  readonly hits: SearchHit[]
  readonly timings: RetrievalTimings
  readonly model: string
  readonly index: IndexVersion
}

/**
 * Finds a question's k best passages in one table, which says with what it is embedded: whatever is put behind the name meanwhile,
 * a vector is only compared with those of its own model, and table, passages and model of an answer belong together.
 */
export async function retrieve(
  query: string,
  { method: wanted, ...options }: { k: number; filter?: SearchFilter; method?: Method },
  retriever: Retriever,
  run: RunOptions = {},
): Promise<Retrieved> {
  const started = performance.now()
  const method = wanted ?? retriever.method ?? 'dense'
  const { table, embedder, vector } = await (method === 'text' ? notEmbedded(retriever) : embedForTable(query, retriever, run))
  const embedded = performance.now()
  if (vector !== undefined) run.observe?.stage('embed', started, embedded - started)
  const search =
    vector === undefined
      ? table.searchText(query, options)
      : method === 'hybrid'
        ? table.searchHybrid(query, vector, options)
        : table.search(vector, options)
  const [hits, version] = await Promise.all([search, table.version()])
  const timings = { embed: embedded - started, retrieve: performance.now() - embedded }
  run.observe?.stage('search', embedded, timings.retrieve)
  return { hits, timings, model: modelId(embedder.manifest), index: version }
}

interface ForTable {
  readonly table: SearchedTable
  readonly embedder: Embedder
  readonly vector?: Float32Array | undefined
}

async function notEmbedded(retriever: Retriever): Promise<ForTable> {
  const table = await retriever.index.view()
  return { table, embedder: embedderOf(retriever, table.model) }
}

/**
 * A question's vector and the table that it is for. Embedding may take a while, under load most of all: it is the newest table that is
 * searched then, and where that has come to be one of another model, the question is embedded again.
 */
async function embedForTable(query: string, retriever: Retriever, run: RunOptions): Promise<ForTable> {
  const started = performance.now()
  for (let table = await retriever.index.view(); ;) {
    const embedder = embedderOf(retriever, table.model)
    const left = run.deadlineMs === undefined ? {} : { deadlineMs: run.deadlineMs - (performance.now() - started) }
    const prompt = embedder.manifest.embedding?.query_prompt ?? ''
    const [vector] = await embedder.embed([prompt + query], { ...run, ...left, priority: 'question' })
    const newest = await retriever.index.view()
    if (newest.model.id === table.model.id) return { table: newest, embedder, vector }
    table = newest
  }
}

/** The search route's whole job. */
export async function searchPassages(request: SearchRequest, retriever: Retriever, run: RunOptions = {}): Promise<SearchResponse> {
  const { query, k = 10, filter, method } = request
  const found = await retrieve(query.trim(), { k, ...(filter && { filter }), ...(method && { method }) }, retriever, run)
  const { embed, retrieve: searched } = found.timings
  return {
    passages: found.hits.map(({ id, title, text, source, metadata, score, rank }) => ({
      id,
      title,
      text,
      ...(source !== undefined && { source }),
      ...(metadata && { metadata }),
      score,
      rank,
    })),
    timings_ms: roundedMs({ embed, retrieve: searched, total: embed + searched }),
    model: { retriever: found.model },
    index: found.index,
  }
}
