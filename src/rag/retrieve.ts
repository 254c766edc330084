import { performance } from 'node:perf_hooks'
import type { SearchFilter, SearchHit } from '../../index/contract.ts'
import { modelId } from '../../models/manifest.ts'
import type { Embedder, RunOptions } from '../inference/contract.ts'
import type { Method, SearchRequest, SearchResponse } from './schema.ts'
import { roundedMs } from './timings.ts'

/** Table and version that a search saw. */
export interface IndexVersion {
  readonly table: string
  readonly version: number
  readonly passages: number
}

/** What retrieval needs of an index. */
export interface PassageSource {
  search(vector: Float32Array, options: { k: number; filter?: SearchFilter }): Promise<SearchHit[]>
  /** BM25. */
  searchText(query: string, options: { k: number; filter?: SearchFilter }): Promise<SearchHit[]>
  /** Dense and BM25 lists, their scores fused. */
  searchHybrid(query: string, vector: Float32Array, options: { k: number; filter?: SearchFilter }): Promise<SearchHit[]>
  version(): Promise<IndexVersion>
}

export interface Retriever {
  readonly embedder: Embedder
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

/** Embeds a question and finds its k best passages. */
export async function retrieve(
  query: string,
  { method: wanted, ...options }: { k: number; filter?: SearchFilter; method?: Method },
  { embedder, index, method: byDefault = 'dense' }: Retriever,
  run: RunOptions = {},
): Promise<Retrieved> {
  const started = performance.now()
  const method = wanted ?? byDefault
  const vector = method === 'text' ? undefined : (await embedder.embed([query], { ...run, priority: 'question' }))[0]
  const embedded = performance.now()
  if (vector !== undefined) run.observe?.stage('embed', started, embedded - started)
  const search =
    vector === undefined
      ? index.searchText(query, options)
      : method === 'hybrid'
        ? index.searchHybrid(query, vector, options)
        : index.search(vector, options)
  const [hits, version] = await Promise.all([search, index.version()])
  const timings = { embed: embedded - started, retrieve: performance.now() - embedded }
  run.observe?.stage('search', embedded, timings.retrieve)
  return { hits, timings, model: modelId(embedder.manifest), index: version }
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
