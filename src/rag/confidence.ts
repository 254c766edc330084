import type { AnswerReadResult } from '../inference/contract.ts'
import { probabilityCorrect, type Calibration } from './calibration/calibration.ts'
import type { Signals } from './calibration/signal-names.ts'
import { signalsOf } from './calibration/signals.ts'
import { confidence } from './evidence.ts'
import type { AnswerResponse, Evidence } from './schema.ts'
import type { ResolvedQuestion } from './resolve-request.ts'

export type AnswerConfidence = Pick<
  AnswerResponse,
  'answer' | 'abstained' | 'reason' | 'confidence' | 'probability_correct' | 'finish_reason'
>

export interface ConfidencePolicy {
  /** Null where there is none for the reader. */
  readonly calibration: Calibration | null
  /** Least probability (confidence where there is no probability) of an answer that is given; undefined: LEAST_PROBABILITY, where there is one. */
  readonly minConfidence: number | undefined
}

/** An answer that is less likely right than wrong is withheld, where a calibration says so and nothing else is set. */
export const LEAST_PROBABILITY = 0.5

/** Whether an answer may have to be withheld once it is judged: it is not streamed before. */
export function mayBeWithheld({ calibration, minConfidence }: ConfidencePolicy): boolean {
  return minConfidence === undefined ? calibration !== null : minConfidence > 0
}

function isWithheld(probability: number | null, sure: number, minConfidence: number | undefined): boolean {
  if (minConfidence === undefined) return probability !== null && probability < LEAST_PROBABILITY
  return (probability ?? sure) < minConfidence
}

/** What a calibration weighs, of an answer that it can judge: a greedy one, in words of its own, from passages that the reader saw together. */
export function confidenceSignals(
  { question, mode, sampling, grammar }: ResolvedQuestion,
  read: AnswerReadResult,
  evidence: readonly Evidence[],
): Signals | null {
  const judged = mode === 'cepe' || mode === 'decoder-only'
  return judged && sampling === undefined && grammar === undefined ? signalsOf(question, read, evidence) : null
}

/** Returns the confidence of an answer, its probability of being right, and whether it is withheld. */
export function assessAnswer(
  { text, stopped, logprobs }: AnswerReadResult,
  signals: Signals | null,
  { calibration, minConfidence }: ConfidencePolicy,
): AnswerConfidence {
  // A reader that stops at once may be sure that it has no answer; there is none to be confident of.
  const sure = text === '' ? 0 : confidence(logprobs)
  const probability = calibration && signals ? probabilityCorrect(calibration, signals) : null
  const abstained = isWithheld(probability, sure, minConfidence)
  return {
    answer: abstained ? null : text,
    abstained,
    reason: abstained ? (probability === null ? 'low_confidence' : 'low_probability_correct') : null,
    confidence: sure,
    probability_correct: probability,
    finish_reason: stopped ? 'stop' : 'length',
  }
}

/** Nothing was asked of the model. */
export const NO_ANSWER: AnswerConfidence = {
  answer: null,
  abstained: false,
  reason: 'no_passages',
  confidence: 0,
  probability_correct: null,
  finish_reason: null,
}
