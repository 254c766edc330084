import { seededRandom } from '../../base/random.ts'

/** A mean with its 95 % percentile-bootstrap interval. */
export interface Estimate {
  readonly mean: number
  readonly low: number
  readonly high: number
  readonly n: number
}

/** Resamples per interval. */
const RESAMPLES = 1000

export function mean(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Linear interpolation between the order statistics of ascending `sorted`, as numpy's default. */
export function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** Means of `resamples` samples with replacement. */
export function bootstrapMeans(values: readonly number[], seed: number, resamples = RESAMPLES): number[] {
  const random = seededRandom('bootstrap', seed)
  const fixed = Float64Array.from(values)
  return Array.from({ length: resamples }, () => {
    let sum = 0
    for (let i = 0; i < fixed.length; i++) sum += fixed[Math.floor(random() * fixed.length)] as number
    return sum / fixed.length
  })
}

/** Mean of per-question scores with its 95 % interval over resampled questions (Efron's percentile bootstrap). NaN without values. */
export function estimate(values: readonly number[], seed: number): Estimate {
  if (values.length === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN, n: 0 }
  const means = bootstrapMeans(values, seed).sort((a, b) => a - b)
  return { mean: mean(values), low: quantile(means, 0.025), high: quantile(means, 0.975), n: values.length }
}
