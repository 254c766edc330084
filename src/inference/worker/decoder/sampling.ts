import type { Sampling } from '../../contract.ts'
import { at } from '../../../../base/at.ts'

/** Pure functions over one row of logits; logarithms are natural. */

export function logSoftmax(logits: Float32Array): Float64Array {
  const shift = logSumExp(logits)
  return Float64Array.from(logits, (logit) => logit - shift)
}

/** log of the sum of exponentials, without overflow; minus infinity for no values. */
export function logSumExp(values: ArrayLike<number>): number {
  let largest = -Infinity
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, values[i] as number)
  if (largest === -Infinity) return -Infinity
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += Math.exp((values[i] as number) - largest)
  return largest + Math.log(sum)
}

/** (value - largest) / temperature: finite for the largest at every temperature, without losing small numbers. */
function tempered(values: ArrayLike<number>, temperature: number): number[] {
  const largest = at(values, argmax(values))
  return Array.from(values, (value) => (value - largest) / temperature)
}

/** Index of the largest value, the first of equals. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i
  return best
}

/**
 * Samples an id from log-probabilities at `temperature`, from the `topK` most likely ids, and of these the smallest set whose share is
 * `topP` or more (nucleus sampling, Holtzman et al. 2020).
 * @param random numbers in [0, 1)
 */
export function sampleToken(logprobs: Float64Array, { temperature, topP, topK = Infinity }: Omit<Sampling, 'seed'>, random: () => number) {
  const scaled = Float64Array.from(tempered(logprobs, temperature))
  const total = logSumExp(scaled)
  const ranked = Array.from(scaled, (value, id) => ({ id, probability: Math.exp(value - total) }))
    .sort((a, b) => b.probability - a.probability || a.id - b.id)
    .slice(0, topK)
  const most = topK < scaled.length ? ranked.reduce((sum, { probability }) => sum + probability, 0) : 1
  const nucleus: typeof ranked = []
  let mass = 0
  for (const candidate of ranked) {
    nucleus.push(candidate)
    mass += candidate.probability
    if (mass >= topP * most) break
  }
  let left = random() * mass
  for (const { id, probability } of nucleus) {
    left -= probability
    if (left < 0) return id
  }
  return nucleus.at(-1)?.id ?? argmax(logprobs)
}

/**
 * Mixture of next-token distributions: log of sum_i w_i p_i(token), w = softmax(scores / temperature)
 * (RePlug, Shi et al. 2023), computed in log space.
 * @param rows log-probabilities, one row per prompt
 */
export function mixLogprobs(rows: readonly Float64Array[], scores: readonly number[], temperature: number): Float64Array {
  const scaled = tempered(scores, temperature)
  const total = logSumExp(scaled)
  const weighted = rows.map((row, i) => row.map((logprob) => logprob + (scaled[i] as number) - total))
  return Float64Array.from({ length: rows[0]?.length ?? 0 }, (_, token) => logSumExp(weighted.map((row) => row[token] as number)))
}
