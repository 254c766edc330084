import { mean } from '../../base/at.ts'

/**
 * Geometric mean of the token probabilities, stop token included: uncertainty about the end of an answer counts.
 * @param agreement of several readings of a passage, as in an answer's result
 */
export function confidence(logprobs: readonly number[], agreement = 1): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(mean(logprobs))) * agreement
}
