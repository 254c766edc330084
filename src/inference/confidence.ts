import { mean } from '../../base/at.ts'

/** Geometric mean of the token probabilities, stop token included: uncertainty about the end of an answer counts. */
export function confidence(logprobs: readonly number[]): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(mean(logprobs)))
}
