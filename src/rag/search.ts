import { clipped } from '../../base/sentences.ts'
import { type CodedError, notFound } from '../../base/errors.ts'
import type { Passage } from '../../index/contract.ts'
import type { PassageIndex } from '../../index/passage-index.ts'
import { storedId } from '../../index/read/validate.ts'
import { withTimeLeft, type RunOptions } from '../inference/contract.ts'
import { type AnswerServices, inCollection } from './pipeline.ts'
import { candidatesFor, firstOf, rerank } from './rerank.ts'
import { retrieve, roundedMs } from './retrieve.ts'
import type { SearchRequest, SearchResponse } from './schema.ts'

const DEFAULT_K = 10

/** Retrieves passages, and reranks them on request. @throws errors of `rerank` */
export async function search(
  request: SearchRequest,
  given: Pick<AnswerServices, 'retriever' | 'reader' | 'reranker' | 'admission' | 'fileOf'>,
  run: RunOptions = {},
): Promise<SearchResponse> {
  const { query, k = DEFAULT_K, filter, method } = request
  const services = await inCollection(given, request.collection)
  const started = performance.now()
  const wanted = { k: request.rerank ? candidatesFor(k) : k, filter, method }
  const { hits, timings, model, index } = await retrieve(query, wanted, services.retriever, run)
  const order = request.rerank && (await rerank({ query, passages: hits }, services, withTimeLeft(run, started)))
  const passages = order ? firstOf(hits, order, k).map((passage, i) => ({ ...passage, rank: i + 1 })) : hits
  return {
    passages: await Promise.all(passages.map(async (passage) => withFile(passage, await services.fileOf?.(passage)))),
    timings_ms: roundedMs({ ...timings, total: performance.now() - started }),
    model: { retriever: model },
    index,
  }
}

/** @throws not_found */
export async function passageOf(index: Pick<PassageIndex, 'get'>, id: string): Promise<Passage> {
  const passage = await index.get(storedId(id))
  if (passage === undefined) throw noPassage(id)
  return passage
}

export function noPassage(id: string): CodedError {
  return notFound('id', `There is no passage "${clipped(id, 100)}".`)
}

/** A passage with the address of its file, if it has one. */
export function withFile<Found extends object>(passage: Found, file: string | undefined): Found & { readonly file?: string } {
  return file === undefined ? passage : { ...passage, file }
}
