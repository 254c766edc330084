import { at } from '../../base/at.ts'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import type { AttendedSentence, ReadPlacement } from '../inference/contract.ts'
import type { RankedPassage } from './gather.ts'
import { highlights } from './highlights.ts'
import type { Evidence } from './schema.ts'

export interface EvidenceOptions {
  /** Cross-attention on each context; empty where it was not measured. */
  readonly shares?: readonly number[]
  /** What the passages are to support; nothing is highlighted without. */
  readonly answer?: string
  /** Of each passage the sentence that was attended to most, where that was asked for. */
  readonly attended?: readonly (AttendedSentence | null)[] | undefined
  /** Where the file of a passage is to be had. */
  readonly fileOf?: ((passage: RankedPassage) => string | undefined) | undefined
}

/**
 * Where each passage was read. Marking the answer in a megabyte of passages takes a while, which other requests share.
 */
export async function evidence(
  passages: readonly RankedPassage[],
  placement: ReadPlacement,
  { shares = [], answer = '', attended, fileOf }: EvidenceOptions = {},
): Promise<Evidence[]> {
  const yieldToEventLoop = eventLoopYielder()
  const found: Evidence[] = []
  for (const [i, passage] of passages.entries()) {
    const { id, title, text, source, metadata, score } = passage
    const pause = yieldToEventLoop()
    if (pause) await pause
    const context = at(placement.contextOf, i)
    const encoded = context >= 0
    const inDecoder = at(placement.inDecoder, i)
    const file = fileOf?.(passage)
    found.push({
      id,
      title,
      text,
      ...(source !== undefined && { source }),
      ...(metadata && { metadata }),
      ...(file !== undefined && { file }),
      score,
      rank: i + 1,
      role: encoded ? (inDecoder ? 'both' : 'encoder') : inDecoder ? 'decoder' : 'unused',
      attention: encoded && shares.length > 0 ? at(shares, context) : null,
      tokens: encoded ? at(placement.contextTokenCounts, context) : null,
      highlights: highlights(text, answer),
      ...(attended && { attended: at(attended, i) }),
    })
  }
  return found
}

/**
 * Geometric mean of the token probabilities, exp(mean log-probability), the stop token included:
 * a model that is unsure where its answer ends is unsure of the answer.
 */
export function confidence(logprobs: readonly number[]): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(logprobs.reduce((sum, logprob) => sum + logprob, 0) / logprobs.length))
}
