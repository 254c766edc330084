import { at } from '../../base/at.ts'
import type { Admission, Reader, Reranker, RunOptions } from '../inference/contract.ts'
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

/** What orders passages: the cross-encoder where there is one, else the reader. */
export interface RankingModels {
  readonly reader: Reader
  readonly reranker?: Reranker | undefined
}

/** Where a passage stood, and how well it fits. */
export interface Reranked {
  readonly index: number
  /** A cross-encoder's logit; of a reader the mean log-probability of the query's tokens after the passage. */
  readonly raw: number
  /** 0 to 1: the logit's sigmoid, or the exponential of the log-probability. */
  readonly score: number
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
export function rerankCost(query: string, passages: number, contextTokens: number, models: RankingModels): number {
  return tokenShare(models) * passages * (tokensOf(query) + contextTokens)
}

/** Work of a token beside one of the reader: by weights. */
function tokenShare({ reader, reranker }: RankingModels): number {
  return reranker ? Math.min(1, reranker.manifest.parameters / reader.manifest.parameters) : 1
}

/**
 * Orders passages by the cross-encoder's scores, or by the reader's likelihood of the query given each of them.
 * @throws overloaded if the request is not admitted; deadline_exceeded; unprocessable where the query fills the window
 */
export async function rerank(
  request: RerankRequest,
  { admission, ...models }: RankingModels & { readonly admission: Admission },
  run: RunOptions = {},
): Promise<Reranking> {
  const kept = keptTokens(request, models.reader)
  const tokens = request.passages.reduce((sum, { text }) => sum + Math.min(kept, tokensOf(text)) + tokensOf(request.query), 0)
  return withAdmission(admission, { cost: BASE_COST + tokenShare(models) * tokens }, run, (left) => rerankAdmitted(request, models, left()))
}

/** The same within a request that was admitted already. */
export async function rerankAdmitted(request: RerankRequest, models: RankingModels, run: RunOptions): Promise<Reranking> {
  const { query: question, passages } = request
  const { reader, reranker } = models
  if (passages.length === 0) return { ranked: [], promptTokens: 0 }
  if (reranker) return rerankBy(reranker, request, run)
  const { logprobs, promptTokens } = await reader.likelihoods({ question, passages, contextTokens: keptTokens(request, reader) }, run)
  const scored = passages.map((_, index) => {
    const raw = mean(at(logprobs, index))
    return { index, raw, score: Math.exp(raw) }
  })
  return { ranked: scored.sort((a, b) => b.raw - a.raw), promptTokens }
}

async function rerankBy(
  reranker: Reranker,
  { query, passages, contextTokens: textTokens }: RerankRequest,
  run: RunOptions,
): Promise<Reranking> {
  const started = performance.now()
  const { scores, tokens } = await reranker.rank({ query, texts: passages.map(passageText), textTokens }, run)
  run.observe?.stage('read', started, performance.now() - started)
  run.observe?.tokens('prompt', tokens)
  const ranked = scores.map((raw, index) => ({ index, raw, score: 1 / (1 + Math.exp(-raw)) }))
  return { ranked: ranked.sort((a, b) => b.raw - a.raw), promptTokens: tokens }
}

/** As retrievers read it. */
function passageText({ title, text }: PromptPassage): string {
  return title === '' ? text : `${title} ${text}`
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
