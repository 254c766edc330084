import type { PassageMetadata } from '../../index/passage-metadata.ts'
import type { RunOptions } from '../inference/contract.ts'
import type { PromptPassage } from '../text/prompt.ts'
import { retrieve, type RetrievalTimings, type Retrieved, type Retriever } from './retrieve.ts'
import type { AnswerRequest } from './schema.ts'

/** A passage to answer from, with its rank. */
export interface RankedPassage extends PromptPassage {
  readonly id: string
  readonly score: number | null
  /** Where the passage came from. */
  readonly source?: string
  readonly metadata?: PassageMetadata
}

export interface Gathered {
  readonly passages: readonly RankedPassage[]
  /** Retrieval result; null if the request brings its own passages or uses none. */
  readonly found: Retrieved | null
}

export const NO_RETRIEVAL: RetrievalTimings = { embed: 0, retrieve: 0 }

/** Returns the passages of the request, else the index's k best. */
export async function gatherPassages(
  request: Pick<AnswerRequest, 'question' | 'method' | 'mode' | 'filter' | 'passages'>,
  k: number,
  retriever: Retriever,
  run: RunOptions,
): Promise<Gathered> {
  if (request.passages !== undefined) {
    const supplied = request.passages.slice(0, k).map(({ id, title, text, score, source, metadata }, i) => ({
      id: id ?? String(i + 1),
      title: title.normalize(),
      text: text.normalize(),
      score: score ?? null,
      ...(source !== undefined && { source }),
      ...(metadata && { metadata }),
    }))
    return { passages: supplied, found: null }
  }
  if (k === 0) return { passages: [], found: null }
  // RePlug weighs passages by the retriever's own scores (Shi et al., 2023, section 3.2): fused ones have another scale.
  const method = request.method ?? (request.mode === 'replug' ? 'dense' : undefined)
  const options = { k, method, filter: request.filter }
  const found = await retrieve(request.question.trim().normalize(), options, retriever, run)
  return { passages: found.hits, found }
}
