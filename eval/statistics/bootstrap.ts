import { at, keptOrMade, mean, sum, wilson } from '../../base/at.ts'
import { seededRandom } from '../../base/random.ts'

/** A mean with its 95 % interval. */
export interface Estimate {
  readonly mean: number
  /** NaN if undetermined. */
  readonly low: number
  readonly high: number
  readonly n: number
}

/** A score with its cluster: scores of one question, item or document are correlated. */
export interface Sample {
  readonly cluster: string
  readonly value: number
}

/** Resamples per interval, and per difference. */
const RESAMPLES = 1000
const PAIRED_RESAMPLES = 10_000

/** Linear interpolation between the order statistics, as numpy's default; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** Bounds of the middle 95 % of resampled values; NaN without values. */
function interval(values: readonly number[]): Pick<Estimate, 'low' | 'high'> {
  return { low: quantile(values, 0.025), high: quantile(values, 0.975) }
}

/** Sums of the values of each cluster, sorted by name and value, so that results do not depend on the order of answers. */
function clustersOf(samples: readonly Sample[]) {
  const values = new Map<string, number[]>()
  for (const { cluster, value } of samples) keptOrMade(values, cluster, () => []).push(value)
  return [...values].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, list]) => ({ sum: sum(list.sort((a, b) => a - b)), count: list.length }))
}

/** Means of `resamples` samples of clusters with replacement (Efron's bootstrap); none of a single cluster: nothing else can be drawn. */
function bootstrapMeans(clusters: ReturnType<typeof clustersOf>, seed: number, resamples: number): number[] {
  if (clusters.length < 2) return []
  const random = seededRandom('bootstrap', seed)
  const sums = Float64Array.from(clusters, ({ sum }) => sum)
  const counts = Float64Array.from(clusters, ({ count }) => count)
  return Array.from({ length: resamples }, () => {
    let [sum, count] = [0, 0]
    for (let i = 0; i < sums.length; i++) {
      const drawn = Math.floor(random() * sums.length)
      sum += sums[drawn] as number
      count += counts[drawn] as number
    }
    return sum / count
  })
}

/** Summed by cluster, so that it does not depend on the order of answers; NaN without values. */
function meanOf(clusters: readonly { readonly sum: number }[], samples: readonly Sample[]): number {
  return clusters.reduce((sum, cluster) => sum + cluster.sum, 0) / samples.length
}

/** Mean of scores with its 95 % interval over resampled clusters (percentile bootstrap), NaN for one cluster. NaN without values. */
export function estimate(samples: readonly Sample[], seed: number): Estimate {
  const clusters = clustersOf(samples)
  return { mean: meanOf(clusters, samples), ...interval(bootstrapMeans(clusters, seed, RESAMPLES)), n: samples.length }
}

/**
 * Mean of scores from 0 to 1 with its 95 % interval: Wilson's, with one trial per cluster, if all scores are 0 or 1 in single-value
 * clusters, or if all clusters are alike; else the cluster bootstrap's.
 */
export function estimateShare(samples: readonly Sample[], seed: number): Estimate {
  const clusters = clustersOf(samples)
  const binary = clusters.length === samples.length && samples.every((sample) => sample.value === 0 || sample.value === 1)
  const alike = new Set(clusters.map(({ sum, count }) => sum / count)).size <= 1
  if (!binary && !alike) return estimate(samples, seed)
  const value = meanOf(clusters, samples)
  return { mean: value, ...wilson(value, clusters.length), n: samples.length }
}

/**
 * Difference b - a by paired bootstrap over questions (Efron and Tibshirani; Koehn 2004 for its use on systems' scores): differences are resampled by cluster;
 * p is twice the smaller share of resamples on the other side of zero, at least 1 / (resamples + 1). Interval and p of a single cluster
 * are NaN: nothing else can be drawn from it.
 * @param pairs scores of the same item in two runs
 */
export function pairedBootstrap(pairs: readonly Readonly<{ cluster: string; a: number; b: number }>[], seed: number) {
  const differences = pairs.map(({ cluster, a, b }) => ({ cluster, value: b - a }))
  const means = bootstrapMeans(clustersOf(differences), seed, PAIRED_RESAMPLES)
  const notAbove = means.filter((value) => value <= 0).length
  const notBelow = means.filter((value) => value >= 0).length
  return {
    difference: mean(differences.map(({ value }) => value)),
    ...interval(means),
    p: means.length === 0 ? Number.NaN : Math.min(1, (2 * (Math.min(notAbove, notBelow) + 1)) / (PAIRED_RESAMPLES + 1)),
    n: differences.length,
  }
}

/** Exact two-sided McNemar test from the numbers of questions that only one of two systems got right. */
export function mcnemar(onlyA: number, onlyB: number): number {
  const trials = onlyA + onlyB
  const smaller = Math.min(onlyA, onlyB)
  let logChoose = 0
  let tail = 0
  for (let i = 0; i <= smaller; i++) {
    tail += Math.exp(logChoose - trials * Math.LN2)
    logChoose += Math.log(trials - i) - Math.log(i + 1)
  }
  return Math.min(1, 2 * tail)
}

/** One item in two settings, asked in direct succession. */
export interface TimedPair {
  readonly id: string
  /** Tokens read and generated, and milliseconds. */
  readonly base: { readonly tokens: number; readonly ms: number }
  readonly other: { readonly tokens: number; readonly ms: number }
}

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
