import { at } from '../../base/at.ts'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import type { AttendedSentence, ReadPlacement } from '../inference/contract.ts'
import type { RankedPassage } from './gather.ts'
import { highlights } from './highlights.ts'
import type { Evidence } from './schema.ts'

export interface EvidenceOptions {
  /** Cross-attention share of each context; empty if not measured. */
  readonly shares?: readonly number[]
  /** Answer to highlight; none if absent. */
  readonly answer?: string
  /** The most attended sentence of each passage, if requested. */
  readonly attended?: readonly (AttendedSentence | null)[] | undefined
  /** URL of a passage's file. */
  readonly fileOf?: ((passage: RankedPassage) => string | undefined) | undefined
}

/** Builds the evidence of passages. Highlighting a megabyte of passages takes time, so it yields to other requests. */
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
