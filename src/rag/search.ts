import type { RunOptions } from '../inference/contract.ts'
import type { AnswerServices } from './pipeline.ts'
import { candidatesFor, firstOf, rerank } from './rerank.ts'
import { searchPassages } from './retrieve.ts'
import type { SearchRequest, SearchResponse } from './schema.ts'
import { roundedMs } from './timings.ts'

/** The schema's own. */
const DEFAULT_K = 10

/** Finds passages, and reranks them where that is wanted. @throws what `rerank` throws, then */
export async function search(
  request: SearchRequest,
  services: Pick<AnswerServices, 'retriever' | 'reader' | 'reranker' | 'admission'>,
  run: RunOptions = {},
): Promise<SearchResponse> {
  if (!request.rerank) return searchPassages(request, services.retriever, run)
  const started = performance.now()
  const { k = DEFAULT_K } = request
  const found = await searchPassages({ ...request, k: candidatesFor(k) }, services.retriever, run)
  const spent = performance.now() - started
  const left = run.deadlineMs === undefined ? run : { ...run, deadlineMs: run.deadlineMs - spent }
  const order = await rerank({ query: request.query.trim(), passages: found.passages }, services, left)
  return {
    ...found,
    passages: firstOf(found.passages, order, k).map((passage, i) => ({ ...passage, rank: i + 1 })),
    timings_ms: { ...found.timings_ms, ...roundedMs({ total: performance.now() - started }) },
  }
}
