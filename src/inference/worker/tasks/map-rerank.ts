import { at, mean, present, sum } from '../../../../base/at.ts'
import { nearestParts } from '../../../text/focus.ts'
import { asSigned } from '../../../text/signed-amount.ts'
import { plainText } from '../../../text/words.ts'
import { sureness } from '../../confidence.ts'
import type { AnswerRead } from '../../contract.ts'
import type { YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { passageWeights } from './answer-parts.ts'
import { answerTask, type Answer, type PlannedRead } from './answer-task.ts'
import { tokensAround } from './json-tokens.ts'

/** An answer, and the request for it alone: with the passages that it is from. */
export interface Placed {
  readonly answer: Answer
  readonly asked: PlannedRead
  /** The same with the whole passage, of whose part the answer is. */
  readonly whole: PlannedRead
}

/**
 * Reads passages one at a time, best first, and returns the answer that is worth most: its confidence times the weight of its passage.
 * Extractive readers choose among passages in this way (Karpukhin et al. 2020, section 6.1); for a small decoder the other passages of a
 * common prompt are distractors. The first `kDecoder` passages are read in a prompt, the others through the encoder if the model has one.
 * With `focus` the parts of a passage that are nearest to the question are read in prompts, too, and the surest answer is that of the
 * passage. An empty answer says that the passage has none: its parts are not read, which would guess. As a confidence is 1 at most,
 * passages whose weight is not above the best answer's worth are not read.
 * @throws as answerTask
 */
export async function mapRerankTask(model: ReaderModel, read: AnswerRead, yieldPoint: YieldPoint): Promise<Placed> {
  const weights = passageWeights(read.passages)
  const mode = model.limits.hasEncoder ? 'cepe' : 'decoder-only'
  const reading = async (asked: PlannedRead, whole = asked) => ({ asked, whole, answer: await answerTask(model, asked, yieldPoint) })
  const readings: Placed[][] = []
  let best: (Placed & { readonly worth: number; readonly passage: number }) | undefined
  for (const [i, weight] of weights.entries()) {
    if (best !== undefined && best.worth >= weight && best.worth > 0) break
    const passage = at(read.passages, i)
    const whole = { ...read, mode, passages: [passage], kDecoder: i < read.kDecoder ? 1 : 0 } as const
    const placed = [await reading(whole)]
    const parts = read.focus && at(placed, 0).answer.text !== '' ? nearestParts(read.question, passage.text) : []
    for (const text of parts)
      placed.push(await reading({ ...whole, passages: [{ ...passage, text }], kDecoder: Math.min(1, read.kDecoder) }, whole))
    readings.push(placed)
    const surest = placed.reduce((a, b) => (sureness(b.answer) > sureness(a.answer) ? b : a))
    const worth = sureness(surest.answer) * weight
    if (best === undefined || worth > best.worth) best = { ...surest, answer: agreed(surest.answer, placed), worth, passage: i }
  }
  const { passage, ...chosen } = present(best)
  const { answer, ended } = await inPassage(model, chosen, yieldPoint)
  if (ended) at(readings, passage).push(ended)
  return { ...chosen, answer: { ...answer, ...joined(read, readings, passage, chosen) } }
}

/** Times as many tokens as the default limit: a key, an address or a title is read to its end, a text without end is not. */
const TO_END = 3

/**
 * The answer of a passage as it stands there: an amount with its sign, and what the default limit cuts read once more, to its end.
 * @returns the second reading, too, if there is one
 */
export async function inPassage(model: ReaderModel, placed: Placed, yieldPoint: YieldPoint) {
  const { answer: cut, asked, whole } = placed
  const maxNewTokens = TO_END * asked.maxNewTokens
  const isRoom = cut.promptTokens + maxNewTokens <= model.limits.window
  const ended =
    asked.isDefaultLimit && !cut.stopped && isRoom
      ? { ...placed, answer: await answerTask(model, { ...asked, maxNewTokens }, yieldPoint) }
      : undefined
  const answer = { ...cut, ...(ended?.answer.stopped && ended.answer) }
  const text = asSigned(answer.text, at(whole.passages, 0).text)
  const tokens = text === answer.text ? answer.tokens : answer.tokens && tokensAround(answer.tokens, text)
  return { answer: { ...answer, text, tokens }, ended }
}

/** The surest answer of several readings, with its mean confidence in all of them relative to its own: those that say otherwise have none. */
function agreed(surest: Answer, readings: readonly Placed[]): Answer {
  if (readings.length === 1 || surest.text === '') return surest
  const said = plainText(surest.text)
  const shares = readings.map(({ answer }) => (plainText(answer.text) === said ? sureness(answer) : 0))
  return { ...surest, agreement: mean(shares) / sureness(surest) }
}

/**
 * What an answer holds of all that was read.
 * @param readings by passage, the whole one first
 * @param chosen number of the answer's passage
 */
function joined({ passages, attendedSentences }: AnswerRead, readings: readonly (readonly Placed[])[], chosen: number, surest: Placed) {
  const wholes = readings.map((placed) => at(placed, 0))
  // The contexts of parts stand behind those of passages.
  const all = [...wholes, ...readings.flatMap((placed) => placed.slice(1))].map(({ answer }) => answer)
  const ms = (stage: keyof Answer['timingsMs']): number => sum(all.map(({ timingsMs }) => timingsMs[stage]))
  const encoded = wholes.flatMap(({ answer }, i) => (answer.contextOf[0] === 0 ? i : []))
  // A part has other offsets than its passage.
  const sentence = surest.asked === surest.whole ? (surest.answer.attended?.[0] ?? null) : null
  return {
    ...(attendedSentences && { attended: passages.map((_, i) => (i === chosen ? sentence : null)) }),
    contextOf: passages.map((_, i) => encoded.indexOf(i)),
    contextTokenCounts: all.flatMap(({ contextTokenCounts }) => contextTokenCounts),
    // An answer attended to its own passage only, or to none where it is from a prompt.
    contextShares: surest.answer.contextShares.length > 0 ? encoded.map((i) => (i === chosen ? 1 : 0)) : [],
    contexts: all.flatMap(({ contexts }) => contexts),
    inDecoder: passages.map((_, i) => readings[i]?.some(({ answer }) => answer.inDecoder.includes(true)) ?? false),
    promptTokens: sum(all.map(({ promptTokens }) => promptTokens)),
    prompts: all.flatMap(({ prompts }) => prompts),
    timingsMs: { plan: ms('plan'), encode: ms('encode'), generate: ms('generate') },
  }
}
