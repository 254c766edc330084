import { given } from '../../base/at.ts'
import { invalidField } from '../../base/errors.ts'
import { isExact } from '../../base/json.ts'
import type { EmbeddingModel, SearchOptions } from '../../index/contract.ts'
import type { TableView } from '../../index/view.ts'
import { modelId, promptOf } from '../../models/manifest.ts'
import { embedderOf, type Embedders, type RunOptions, withTimeLeft } from '../inference/contract.ts'
import type { Method, AnswerRequest } from './schema.ts'
import { INEXACT, type PassageMetadata } from '../../index/passage-metadata.ts'
import type { PromptPassage } from '../text/prompt.ts'

export interface PassageSource {
  view(): Promise<Omit<TableView, 'model'> & { readonly model: Pick<EmbeddingModel, 'id'> }>
  /** Titles of up to `count` passages spread over the table. */
  titles?(count: number): Promise<string[]>
}

export interface Retriever extends Embedders {
  readonly index: PassageSource
  /** Another collection by its name; there are none where this is absent. @throws unknown_collection */
  readonly collection?: (name: string) => Promise<PassageSource>
  /** Default method; dense if absent. */
  readonly method?: Method
}

type Retrieved = Awaited<ReturnType<typeof retrieve>>

/**
 * Retrieves a question's k best passages from one view of a table, embedded with the table's model. The view is fixed, so table, passages
 * and model of an answer are consistent.
 */
export async function retrieve(
  asked: string,
  { method: wanted, ...options }: SearchOptions & { readonly method?: Method | undefined },
  retriever: Retriever,
  run: RunOptions = {},
) {
  const started = performance.now()
  const query = asked.trim().normalize()
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
  /** Milliseconds. */
  const timings = { embed: embedded - started, retrieve: performance.now() - embedded }
  run.observe?.stage('search', embedded, timings.retrieve)
  return { hits, timings, model: modelId(embedder.manifest), index: version }
}

async function notEmbedded(retriever: Retriever) {
  const table = await retriever.index.view()
  return { table, embedder: embedderOf(retriever, table.model), vector: undefined }
}

/** Embeds a question for the newest table. If that has another model once it is embedded, the question is embedded again. */
async function embedForTable(query: string, retriever: Retriever, run: RunOptions) {
  const started = performance.now()
  for (let table = await retriever.index.view(); ;) {
    const embedder = embedderOf(retriever, table.model)
    const [vector] = await embedder.embed([promptOf(embedder.manifest, 'query') + query], {
      ...withTimeLeft(run, started),
      priority: 'question',
    })
    const newest = await retriever.index.view()
    if (newest.model.id === table.model.id) return { table: newest, embedder, vector }
    table = newest
  }
}

/** Rounds milliseconds to two decimals. */
export function roundedMs<Stages extends string>(timings: Readonly<Record<Stages, number>>): Record<Stages, number> {
  const stages = Object.entries<number>(timings).map(([stage, ms]) => [stage, Math.round(ms * 100) / 100])
  return Object.fromEntries(stages) as Record<Stages, number>
}

/** A passage to answer from, with its rank. */
export interface RankedPassage extends PromptPassage {
  readonly id: string
  readonly score: number | null
  readonly source?: string
  readonly metadata?: PassageMetadata
}

export interface Gathered {
  readonly passages: readonly RankedPassage[]
  /** Retrieval result; null if the request brings its own passages or uses none. */
  readonly found: Retrieved | null
}

export const NO_RETRIEVAL: Retrieved['timings'] = { embed: 0, retrieve: 0 }

/** Returns the passages of the request, else the index's k best. @throws invalid_request for metadata that JSON rounds */
export async function gatherPassages(
  request: Pick<AnswerRequest, 'question' | 'method' | 'mode' | 'filter' | 'passages'>,
  k: number,
  retriever: Retriever,
  run: RunOptions,
): Promise<Gathered> {
  if (request.passages !== undefined) {
    const [ids, count] = [request.passages.map(({ id }) => id), request.passages.length]
    request.passages.forEach(({ id, metadata = {} }, i) => {
      if (id !== undefined && ids.indexOf(id) < i)
        throw invalidField(`passages.${i}.id`, 'is that of an earlier passage: give each its own')
      const rounded = Object.keys(metadata).find((name) => typeof metadata[name] === 'number' && !isExact(metadata[name]))
      if (rounded !== undefined) throw invalidField(`passages.${i}.metadata.${rounded}`, INEXACT)
    })
    const free = (id: number): string => (ids.includes(String(id)) ? free(id + count) : String(id))
    const supplied = request.passages.slice(0, k).map(({ id, title, text, score, source, metadata }, i) => ({
      id: id ?? free(i + 1),
      title: title.normalize(),
      text: text.normalize(),
      score: score ?? null,
      ...given({ source, metadata }),
    }))
    return { passages: supplied, found: null }
  }
  if (k === 0) return { passages: [], found: null }
  // RePlug weighs passages by the retriever's own scores (Shi et al., 2023, section 3.2): fused ones have another scale.
  const method = request.method ?? (request.mode === 'replug' ? 'dense' : undefined)
  const found = await retrieve(request.question, { k, method, filter: request.filter }, retriever, run)
  return { passages: found.hits, found }
}
