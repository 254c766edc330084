export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Geometric mean of the token probabilities, exp(mean log-probability), with the stop token's: uncertainty about the end counts. */
export function confidence(logprobs: readonly number[]): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(mean(logprobs)))
}
