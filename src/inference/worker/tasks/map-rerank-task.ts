import { at } from '../../../../base/at.ts'
import { confidence } from '../../confidence.ts'
import type { AnswerRead } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { passageWeights } from './answer-parts.ts'
import { answerTask, type PlannedRead } from './answer-task.ts'

type Answer = Output<'answer'>

/** An answer, and the request for it alone: with the passages that it is from. */
export interface Placed {
  readonly answer: Answer
  readonly asked: PlannedRead
}

/**
 * Reads passages one at a time, best first, and returns the answer that is worth most: its confidence times the weight of its passage.
 * Extractive readers choose among passages in this way (Karpukhin et al. 2020, section 6.1); for a small decoder the other passages of a
 * common prompt are distractors. The first `kDecoder` passages are read in a prompt, the others through the encoder if the model has one.
 * An empty answer says that the passage has none. As a confidence is 1 at most, passages whose weight is not above the best answer's worth
 * are not read.
 * @throws as answerTask
 */
export async function mapRerankTask(model: ReaderModel, read: AnswerRead, yieldPoint: YieldPoint): Promise<Placed> {
  const weights = passageWeights(read.passages)
  const mode = model.limits.hasEncoder ? 'cepe' : 'decoder-only'
  const one = (i: number): PlannedRead => ({ ...read, mode, passages: [at(read.passages, i)], kDecoder: i < read.kDecoder ? 1 : 0 })
  const answers: Answer[] = []
  let best = { i: 0, worth: 0 }
  for (const [i, weight] of weights.entries()) {
    if (best.worth >= weight && best.worth > 0) break
    const answer = await answerTask(model, one(i), yieldPoint)
    answers.push(answer)
    const worth = answer.text === '' ? 0 : confidence(answer.logprobs) * weight
    if (worth > best.worth) best = { i, worth }
  }
  return { answer: joined(read, answers, at(answers, best.i)), asked: one(best.i) }
}

/** The chosen answer, with the prompts and times of all that were read. */
function joined({ passages, attendedSentences }: AnswerRead, answers: readonly Answer[], chosen: Answer): Answer {
  const sum = (of: (answer: Answer) => number): number => answers.reduce((total, answer) => total + of(answer), 0)
  const encoded = answers.filter(({ contextOf }) => contextOf[0] === 0)
  return {
    ...chosen,
    ...(attendedSentences && { attended: passages.map((_, i) => (answers[i] === chosen ? (chosen.attended?.[0] ?? null) : null)) }),
    contextOf: passages.map((_, i) => encoded.findIndex((answer) => answer === answers[i])),
    contextTokenCounts: encoded.flatMap(({ contextTokenCounts }) => contextTokenCounts),
    // Of the chosen answer, which attended to its own passage only.
    contextShares: chosen.contextShares.length === 0 ? [] : encoded.map((answer) => (answer === chosen ? 1 : 0)),
    contexts: answers.flatMap(({ contexts }) => contexts),
    inDecoder: passages.map((_, i) => answers[i]?.inDecoder[0] ?? false),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    prompts: answers.flatMap(({ prompts }) => prompts),
    timingsMs: {
      plan: sum(({ timingsMs }) => timingsMs.plan),
      encode: sum(({ timingsMs }) => timingsMs.encode),
      generate: sum(({ timingsMs }) => timingsMs.generate),
    },
  }
}
