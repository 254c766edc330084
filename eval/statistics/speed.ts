import { at } from '../../base/at.ts'
import { interval, quantile, type Estimate } from './bootstrap.ts'
import { seededRandom } from '../../base/random.ts'

/** One item in two settings, asked in direct succession. */
export interface TimedPair {
  readonly id: string
  /** Tokens read and generated, and milliseconds. */
  readonly base: { readonly tokens: number; readonly ms: number }
  readonly other: { readonly tokens: number; readonly ms: number }
}

const RESAMPLES = 1000
/** Minimum number of pairs: single requests differ by a factor of two under other load. */
const LEAST_PAIRS = 10

/**
 * Ratio of tokens per second between two settings over pairs of the same item: the median of the pairs' ratios with its 95 % interval over
 * resampled pairs. Temporary load affects both of a pair, or one pair among many.
 * @returns undefined for fewer than {@link LEAST_PAIRS} pairs
 */
export function relativeSpeed(pairs: readonly TimedPair[]): Estimate | undefined {
  if (pairs.length < LEAST_PAIRS) return undefined
  const ratios = pairs
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ base, other }) => other.tokens / other.ms / (base.tokens / base.ms))
  const random = seededRandom('speed', ratios.length)
  const resampled = () => ratios.map(() => at(ratios, Math.floor(random() * ratios.length)))
  const medians = Array.from({ length: RESAMPLES }, () => quantile(resampled(), 0.5))
  return { mean: quantile(ratios, 0.5), ...interval(medians), n: ratios.length }
}
