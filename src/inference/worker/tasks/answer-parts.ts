import { at, sum } from '../../../../base/at.ts'
import { asksForPhrase, withoutPhrase } from '../../../text/instruction.ts'
import type { PromptTokenizer } from '../../../text/pack.ts'
import { type ReadPlan, cutContexts } from '../../../text/plan.ts'
import type { AnswerRead, AnswerReadResult, GenerateRequest, GenerateResult, ReplugRequest, AttendedSentence } from '../../contract.ts'
import { isFinal } from '../../../text/grammar/grammar.ts'
import { answerTokens } from './answer-tokens.ts'
import { firstLine, cutAtStop, textToStop } from '../decoder/text-streamer.ts'
import { renderPassage, type PromptPassage } from '../../../text/prompt.ts'
import { sentencesOf } from '../../../../base/sentences.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'
import type { YieldPoint } from '../../protocol.ts'

/** Exponent of the relative retrieval score; on 150 questions of real text 1 to 6 differ by 0.013 in exact match. */
const RETRIEVAL_WEIGHT = 2

/**
 * Weights of ranked passages, 1 for the first and never rising: the score relative to the first passage's, to the power of
 * RETRIEVAL_WEIGHT. Without a score, or where the first one is not positive, a passage weighs as much as the one before it.
 */
export function passageWeights(passages: readonly { readonly score: number | null }[]): number[] {
  const first = passages[0]?.score ?? 0
  let weight = 1
  return passages.map(({ score }) => {
    if (score !== null && first > 0) weight = Math.min(weight, Math.max(0, score / first) ** RETRIEVAL_WEIGHT)
    return weight
  })
}

export function generateRequest(read: Unplanned, plan: ReadPlan, stopIds: readonly number[]): GenerateRequest {
  const { prompts, contexts, contextIds } = plan
  // Contexts truncated at their start have shifted offsets.
  const wantsTokenShares = (read.attendedSentences ?? false) && contextIds === undefined
  return { ...read, promptIds: at(prompts, 0).ids, contexts, contextIds, stopIds, wantsTokenShares }
}

export function replugRequest(read: Unplanned, { prompts }: ReadPlan, stopIds: readonly number[]): ReplugRequest {
  return { prompts, temperature: read.replugTemperature, stopIds, maxNewTokens: read.maxNewTokens }
}

/** A request that is answered from one plan, without its mode. */
export type Unplanned = Omit<AnswerRead, 'grammar' | 'mode'> & Pick<GenerateRequest, 'value'>

interface AnswerParts {
  readonly read: Unplanned
  readonly plan: ReadPlan
  readonly decoded: Omit<GenerateResult, 'timingsMs'>
  readonly stopIds: readonly number[]
  readonly tokenizer: PromptTokenizer
}

/** Combines plan and model output to an answer; the caller adds times and attended sentences. */
export function answerResult({ read, plan, decoded, stopIds, tokenizer }: AnswerParts): Omit<AnswerReadResult, 'timingsMs' | 'attended'> {
  const { text, stopped } = textToStop(decoded.tokenIds, stopIds, tokenizer, read.value !== undefined)
  const cut = cutAtStop(firstLine(text), read.stop ?? [])
  const answer = read.value === undefined && asksForPhrase(read.instruction) ? withoutPhrase(cut.text.trim()) : cut.text.trim()
  return {
    text: answer,
    stopped: stopped || cut.stopped || (read.value !== undefined && isFinal(read.value, answer)),
    logprobs: decoded.logprobs,
    contextShares: decoded.contextShares,
    ...(decoded.attentionFocus && { attentionFocus: decoded.attentionFocus }),
    ...(read.topTokens !== undefined && { tokens: answerTokens(decoded, answer, tokenizer) }),
    contextTokenCounts: decoded.contextTokenCounts,
    contextOf: plan.contextOf,
    inDecoder: plan.inDecoder,
    promptTokens: plan.prompts.reduce((sum, { ids }) => sum + ids.length, 0),
    prompts: read.includePrompts ? plan.prompts.map(({ text }) => text) : [],
    contexts: read.includePrompts ? cutContexts(plan, read.contextTokens, tokenizer) : [],
  }
}

/** Number of passages, by attention, to find the sentence in: their texts are tokenised again for it. */
const MOST_ATTENDED_PASSAGES = 20

interface AttendedParts {
  readonly read: { readonly passages: readonly PromptPassage[] }
  /** Its contexts are rendered passages, truncated at their end. */
  readonly plan: Pick<ReadPlan, 'contextOf'>
  readonly decoded: Pick<GenerateResult, 'contextShares' | 'contextTokenCounts' | 'tokenShares'>
  readonly tokenizer: Pick<Tokenizer, 'encode'>
}

/**
 * The sentence of each passage with most of the passage's cross-attention. The end of a sentence in tokens is found by tokenising the
 * passage up to it, so that neither the encoder nor its cache stores offsets.
 * @returns by passage; null if it was not encoded, got no attention, or is not among the most attended
 */
export async function attendedSentences(
  { read: { passages }, plan: { contextOf }, decoded, tokenizer }: AttendedParts,
  yieldPoint: YieldPoint,
): Promise<(AttendedSentence | null)[]> {
  const { contextShares, contextTokenCounts, tokenShares } = decoded
  if (tokenShares === undefined) return passages.map(() => null)
  const least = Math.min(...[...contextShares].sort((a, b) => b - a).slice(0, MOST_ATTENDED_PASSAGES))
  const found: (AttendedSentence | null)[] = []
  for (const [i, passage] of passages.entries()) {
    const context = at(contextOf, i)
    const share = context < 0 ? 0 : at(contextShares, context)
    if (share === 0 || share < least) {
      found.push(null)
      continue
    }
    await yieldPoint()
    const start = sum(contextTokenCounts.slice(0, context))
    found.push(mostAttended(passage, tokenShares.subarray(start, start + at(contextTokenCounts, context)), tokenizer))
  }
  return found
}

/** @param shares attention per token of the rendered passage, as far as it was read */
function mostAttended(passage: PromptPassage, shares: Float64Array, tokenizer: Pick<Tokenizer, 'encode'>): AttendedSentence | null {
  const rendered = renderPassage(passage)
  const offset = rendered.length - passage.text.length
  const tokensTo = (end: number): number => Math.min(shares.length, tokenizer.encode(rendered.slice(0, end).trimEnd()).length)
  const total = shares.reduce((sum, share) => sum + share, 0)
  let best: AttendedSentence | null = null
  let from = tokensTo(offset)
  for (const { start, end } of sentencesOf(passage.text)) {
    if (from >= shares.length) break
    const to = tokensTo(offset + end)
    const mass = shares.subarray(from, to).reduce((sum, share) => sum + share, 0)
    if (mass > 0 && mass / total > (best?.share ?? 0)) best = { start, end, share: mass / total }
    from = to
  }
  return best
}
