import { at } from '../../base/at.ts'
import type { Admission, Reader, RunOptions } from '../inference/contract.ts'
import type { PromptPassage } from '../text/prompt.ts'
import { withAdmission } from './admission.ts'
import { BASE_COST, tokensOf } from './cost.ts'
import { LIMITS } from './limits.ts'

/** Where `rerank` is wanted, so many passages are found for each that is kept, up to a bound: each is a prompt to read. */
const CANDIDATES_PER_PASSAGE = 3
const MOST_CANDIDATES = 50

export interface RerankRequest {
  readonly query: string
  readonly passages: readonly PromptPassage[]
  /** Tokens kept of each passage; default: the model's own. */
  readonly contextTokens?: number | undefined
}

/** Where a passage stood, and how well it fits. */
export interface Reranked {
  readonly index: number
  /** Mean log-probability of the query's tokens after the passage: 0 at most. */
  readonly logprob: number
}

export interface Reranking {
  /** Best first; equals in the order in which they came. */
  readonly ranked: readonly Reranked[]
  readonly promptTokens: number
}

/** Passages that are found to choose k from. */
export function candidatesFor(k: number): number {
  return Math.min(LIMITS.k, Math.max(k, Math.min(CANDIDATES_PER_PASSAGE * k, MOST_CANDIDATES)))
}

/** Work of ordering so many passages of full length beside that of others, see `questionCost`. */
export function rerankCost(query: string, passages: number, contextTokens: number): number {
  return passages * (tokensOf(query) + contextTokens)
}

/**
 * Orders passages by the reader's likelihood of the query given each of them.
 * @throws overloaded if the request is not admitted; deadline_exceeded; unprocessable where the query fills the window
 */
export async function rerank(
  request: RerankRequest,
  { reader, admission }: { readonly reader: Reader; readonly admission: Admission },
  run: RunOptions = {},
): Promise<Reranking> {
  const kept = keptTokens(request, reader)
  const cost = BASE_COST + request.passages.reduce((sum, { text }) => sum + Math.min(kept, tokensOf(text)) + tokensOf(request.query), 0)
  return withAdmission(admission, { cost }, run, (left) => rerankAdmitted(request, reader, left()))
}

/** The same within a request that was admitted already. */
export async function rerankAdmitted(request: RerankRequest, reader: Reader, run: RunOptions): Promise<Reranking> {
  const { query: question, passages } = request
  if (passages.length === 0) return { ranked: [], promptTokens: 0 }
  const { logprobs, promptTokens } = await reader.likelihoods({ question, passages, contextTokens: keptTokens(request, reader) }, run)
  const scored = passages.map((_, index) => ({ index, logprob: mean(at(logprobs, index)) }))
  return { ranked: scored.sort((a, b) => b.logprob - a.logprob), promptTokens }
}

/** The first of the reranked passages. */
export function firstOf<Passage>(passages: readonly Passage[], { ranked }: Reranking, k: number): Passage[] {
  return ranked.slice(0, k).map(({ index }) => at(passages, index))
}

function keptTokens({ contextTokens }: RerankRequest, { manifest: { qa_defaults: defaults, dims } }: Reader): number {
  return Math.min(contextTokens ?? defaults.context_tokens, dims.window)
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
