import { at } from '../../../../base/at.ts'
import type { ReadPlan } from '../../../text/plan.ts'
import { renderPassage, type PromptPassage } from '../../../text/prompt.ts'
import { sentencesOf } from '../../../text/sentences.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'
import type { AttendedSentence, GenerateResult } from '../../contract.ts'
import type { YieldPoint } from '../../protocol.ts'

/** Number of passages, by attention, to find the sentence in: their texts are tokenised again for it. */
const MOST_ATTENDED_PASSAGES = 20

export interface AttendedParts {
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
    const start = contextTokenCounts.slice(0, context).reduce((sum, count) => sum + count, 0)
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
