import { CodedError } from '../../base/errors.ts'
import type { Passage } from '../../index/contract.ts'
import type { PassageIndex } from '../../index/passage-index.ts'
import { storedId } from '../../index/read/validate.ts'
import { withTimeLeft, type RunOptions } from '../inference/contract.ts'
import { type AnswerServices, inCollection } from './pipeline.ts'
import { candidatesFor, firstOf, rerank } from './rerank.ts'
import { retrieve, roundedMs, type Retriever } from './retrieve.ts'
import type { SearchRequest, SearchResponse } from './schema.ts'

const DEFAULT_K = 10

/** Retrieves passages, and reranks them on request. @throws errors of `rerank` */
export async function search(
  request: SearchRequest,
  given: Pick<AnswerServices, 'retriever' | 'reader' | 'reranker' | 'admission' | 'fileOf'>,
  run: RunOptions = {},
): Promise<SearchResponse> {
  const services = await inCollection(given, request.collection)
  const { fileOf } = services
  const withFiles = async ({ passages, ...found }: SearchResponse): Promise<SearchResponse> => ({
    ...found,
    passages: await Promise.all(passages.map(async (passage) => withFile(passage, await fileOf?.(passage)))),
  })
  if (!request.rerank) return withFiles(await searchPassages(request, services.retriever, run))
  const started = performance.now()
  const { k = DEFAULT_K } = request
  const found = await searchPassages({ ...request, k: candidatesFor(k) }, services.retriever, run)
  const order = await rerank({ query: request.query.trim(), passages: found.passages }, services, withTimeLeft(run, started))
  return withFiles({
    ...found,
    passages: firstOf(found.passages, order, k).map((passage, i) => ({ ...passage, rank: i + 1 })),
    timings_ms: { ...found.timings_ms, ...roundedMs({ total: performance.now() - started }) },
  })
}

/** Retrieves passages, without reranking. */
export async function searchPassages(request: SearchRequest, retriever: Retriever, run: RunOptions = {}): Promise<SearchResponse> {
  const { query, k = DEFAULT_K, filter, method } = request
  const found = await retrieve(query.trim(), { k, filter, method }, retriever, run)
  const { embed, retrieve: searched } = found.timings
  return {
    passages: found.hits,
    timings_ms: roundedMs({ embed, retrieve: searched, total: embed + searched }),
    model: { retriever: found.model },
    index: found.index,
  }
}

/** @throws not_found */
export async function passageOf(index: Pick<PassageIndex, 'get'>, id: string): Promise<Passage> {
  const passage = await index.get(storedId(id))
  if (passage === undefined) throw noPassage(id)
  return passage
}

export function noPassage(id: string): CodedError {
  return new CodedError('not_found', `There is no passage "${id.slice(0, 100)}".`, { field: 'id' })
}

/** A passage with the address of its file, if it has one. */
export function withFile<Found extends object>(passage: Found, file: string | undefined): Found & { readonly file?: string } {
  return file === undefined ? passage : { ...passage, file }
}
