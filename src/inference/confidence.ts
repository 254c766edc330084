export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Geometric mean of the token probabilities, stop token included: uncertainty about the end of an answer counts. */
export function confidence(logprobs: readonly number[]): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(mean(logprobs)))
}
