import type { AnswerReadResult } from '../inference/contract.ts'
import { probabilityCorrect, type Calibration, type Signals } from './calibration.ts'
import { signalsOf } from './signals.ts'
import { confidence } from '../inference/confidence.ts'
import type { AnswerResponse, Evidence } from './schema.ts'
import type { ResolvedQuestion } from './resolve-request.ts'

export type AnswerConfidence = Pick<
  AnswerResponse,
  'answer' | 'abstained' | 'reason' | 'confidence' | 'probability_correct' | 'finish_reason'
>

export interface ConfidencePolicy {
  /** Null if there is none for the reader. */
  readonly calibration: Calibration | null
  /** Minimum probability (confidence if there is no probability) of an answer; undefined: LEAST_PROBABILITY, with a calibration. */
  readonly minConfidence: number | undefined
}

/** With a calibration, an answer that is more likely wrong than right is withheld by default. */
export const LEAST_PROBABILITY = 0.5

/** True if an answer may be withheld after its assessment: it is not streamed before. */
export function mayBeWithheld({ calibration, minConfidence }: ConfidencePolicy): boolean {
  return minConfidence === undefined ? calibration !== null : minConfidence > 0
}

function isWithheld(probability: number | null, sure: number, minConfidence: number | undefined): boolean {
  if (minConfidence === undefined) return probability !== null && probability < LEAST_PROBABILITY
  return (probability ?? sure) < minConfidence
}

/** Signals for a calibration, of an answer that it covers: one from passages, of one distribution. */
export function confidenceSignals(
  { question, mode }: ResolvedQuestion,
  read: AnswerReadResult,
  evidence: readonly Evidence[],
): Signals | null {
  return ['experts', 'replug', 'closed-book'].includes(mode) ? null : signalsOf(question, read, evidence)
}

/** Returns the confidence of an answer in words, its probability of being right, and whether it is withheld as written. */
export function assessAnswer(
  { text, stopped, logprobs, written = { text, stopped, logprobs } }: AnswerReadResult,
  signals: Signals | null,
  { calibration, minConfidence }: ConfidencePolicy,
): AnswerConfidence {
  // An empty answer has no confidence, although the reader may be certain of it.
  const sure = text === '' ? 0 : confidence(logprobs)
  const probability = calibration && signals ? probabilityCorrect(calibration, signals) : null
  const abstained = isWithheld(probability, sure, minConfidence)
  return {
    answer: abstained ? null : written.text,
    abstained,
    reason: abstained ? (probability === null ? 'low_confidence' : 'low_probability_correct') : null,
    confidence: sure,
    probability_correct: probability,
    finish_reason: written.stopped ? 'stop' : 'length',
  }
}

/** An answer, as sure as it and the greedy one at most: what is withheld without a temperature is withheld with one. */
export function lessSure(own: AnswerConfidence, greedy: AnswerConfidence): AnswerConfidence {
  const { abstained, reason } = own.abstained ? own : greedy
  const probabilities = [own, greedy].flatMap(({ probability_correct: probability }) => probability ?? [])
  return {
    ...own,
    answer: abstained ? null : own.answer,
    abstained,
    reason,
    confidence: Math.min(own.confidence, greedy.confidence),
    probability_correct: probabilities.length === 0 ? null : Math.min(...probabilities),
  }
}

/** Confidence without a run of the model. */
export const NO_ANSWER: AnswerConfidence = {
  answer: null,
  abstained: false,
  reason: 'no_passages',
  confidence: 0,
  probability_correct: null,
  finish_reason: null,
}
