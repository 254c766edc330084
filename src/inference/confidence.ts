import { mean } from '../../base/at.ts'
import type { AnswerReadResult } from './contract.ts'

/**
 * Geometric mean of the token probabilities, stop token included: uncertainty about the end of an answer counts.
 * @param agreement of several readings of a passage, as in an answer's result
 */
export function confidence(logprobs: readonly number[], agreement = 1): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(mean(logprobs))) * agreement
}

/** Confidence of an answer; 0 if it is empty, although the reader may be certain of that. */
export function sureness({ text, logprobs, agreement }: Pick<AnswerReadResult, 'text' | 'logprobs' | 'agreement'>): number {
  return text === '' ? 0 : confidence(logprobs, agreement)
}
