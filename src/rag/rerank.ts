import { at, mean } from '../../base/at.ts'
import { passageText } from '../../index/contract.ts'
import type { Admission, Reader, Reranker, RunOptions } from '../inference/contract.ts'
import { observed } from '../inference/observer.ts'
import type { PromptPassage } from '../text/prompt.ts'
import { withAdmission, BASE_COST, tokensOf } from './admission.ts'
import { LIMITS } from './limits.ts'

/** With `rerank`, retrieves this many candidates per passage, up to a limit: each is a prompt to read. */
const CANDIDATES_PER_PASSAGE = 3
const MOST_CANDIDATES = 50

interface RerankRequest {
  readonly query: string
  readonly passages: readonly PromptPassage[]
  /** Tokens to keep of each passage; default: the model's own. */
  readonly contextTokens?: number | undefined
}

/** Models for reranking: the cross-encoder if there is one, else the reader. */
export interface RankingModels {
  readonly reader: Reader
  readonly reranker?: Reranker | undefined
}

/** Original index of a passage, and its relevance. */
interface Reranked {
  readonly index: number
  /** A cross-encoder's logit; of a reader the mean log-probability of the query's tokens after the passage. */
  readonly raw: number
  /** 0 to 1: the logit's sigmoid, or the exponential of the log-probability. */
  readonly score: number
}

interface Reranking {
  /** Best first; stable for equal scores. */
  readonly ranked: readonly Reranked[]
  readonly promptTokens: number
}

/** Number of candidates to choose k from. */
export function candidatesFor(k: number): number {
  return Math.min(LIMITS.k, Math.max(k, Math.min(CANDIDATES_PER_PASSAGE * k, MOST_CANDIDATES)))
}

/** Relative work of reranking this many passages of full length, see `questionCost`. */
export function rerankCost(query: string, passages: number, contextTokens: number, models: RankingModels): number {
  return tokenShare(models) * passages * (tokensOf(query) + contextTokens)
}

/** Cost of a token relative to the reader's, by number of weights. */
function tokenShare({ reader, reranker }: RankingModels): number {
  return reranker ? Math.min(1, reranker.manifest.parameters / reader.manifest.parameters) : 1
}

/**
 * Orders passages by the cross-encoder's scores, or by the reader's likelihood of the query given each of them.
 * @throws overloaded if the request is not admitted; deadline_exceeded; unprocessable if the query fills the window
 */
export async function rerank(
  request: RerankRequest,
  { admission, ...models }: RankingModels & { readonly admission: Admission },
  run: RunOptions = {},
): Promise<Reranking> {
  const kept = keptTokens(request, models.reader)
  const tokens = request.passages.reduce((sum, { text }) => sum + Math.min(kept, tokensOf(text)) + tokensOf(request.query), 0)
  const cost = BASE_COST + tokenShare(models) * tokens
  return withAdmission(admission, { kind: 'rerank', cost }, run, (left) => rerankAdmitted(request, models, left()))
}

/** As `rerank`, within an admitted request. */
export async function rerankAdmitted(request: RerankRequest, models: RankingModels, run: RunOptions): Promise<Reranking> {
  const { passages } = request
  const question = request.query.trim().normalize()
  const { reader, reranker } = models
  if (passages.length === 0) return { ranked: [], promptTokens: 0 }
  if (!reranker) {
    const { logprobs, promptTokens } = await reader.likelihoods({ question, passages, contextTokens: keptTokens(request, reader) }, run)
    return { ranked: ranked(logprobs.map(mean), Math.exp), promptTokens }
  }
  const read = { query: question, texts: passages.map(passageText), textTokens: request.contextTokens }
  const { scores, tokens } = await observed(run.observe, 'read', () => reranker.rank(read, run))
  run.observe?.tokens('prompt', tokens)
  return { ranked: ranked(scores, (logit) => 1 / (1 + Math.exp(-logit))), promptTokens: tokens }
}

function ranked(raws: readonly number[], scoreOf: (raw: number) => number): Reranked[] {
  return raws.map((raw, index) => ({ index, raw, score: scoreOf(raw) })).sort((a, b) => b.raw - a.raw)
}

export function firstOf<Passage>(passages: readonly Passage[], { ranked }: Reranking, k: number): Passage[] {
  return ranked.slice(0, k).map(({ index }) => at(passages, index))
}

function keptTokens({ contextTokens }: RerankRequest, { manifest: { qa_defaults: defaults, dims } }: Reader): number {
  return Math.min(contextTokens ?? defaults.context_tokens, dims.window)
}
