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

/** Resamples per interval. */
const RESAMPLES = 1000
/** Two-sided 95 %. */
const Z = 1.96

export function mean(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Linear interpolation between the order statistics, as numpy's default; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** Bounds of the middle 95 % of resampled values. */
export function interval(values: readonly number[]): Pick<Estimate, 'low' | 'high'> {
  return { low: quantile(values, 0.025), high: quantile(values, 0.975) }
}

/** Sums of the values of each cluster, sorted by name and value, so that results do not depend on the order of answers. */
function clustersOf(samples: readonly Sample[]) {
  const values = new Map<string, number[]>()
  for (const { cluster, value } of samples) {
    const known = values.get(cluster)
    if (known === undefined) values.set(cluster, [value])
    else known.push(value)
  }
  return [...values]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, list]) => ({ sum: list.sort((a, b) => a - b).reduce((sum, value) => sum + value, 0), count: list.length }))
}

/** Means of `resamples` samples of clusters with replacement (Efron's bootstrap; single-value clusters give the plain one). */
export function bootstrapMeans(samples: readonly Sample[], seed: number, resamples = RESAMPLES): number[] {
  const random = seededRandom('bootstrap', seed)
  const clusters = clustersOf(samples)
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

/**
 * Mean of scores with its 95 % interval over resampled clusters (percentile bootstrap). The interval of a single cluster is NaN. NaN
 * throughout without values.
 */
export function estimate(samples: readonly Sample[], seed: number): Estimate {
  const clusters = clustersOf(samples)
  const value = meanOf(clusters, samples)
  if (clusters.length < 2) return { mean: value, low: Number.NaN, high: Number.NaN, n: samples.length }
  return { mean: value, ...interval(bootstrapMeans(samples, seed)), n: samples.length }
}

/**
 * Mean of scores from 0 to 1 with its 95 % interval: Wilson's, with one trial per cluster, if all scores are 0 or 1 in single-value
 * clusters, or if all clusters are alike; else the cluster bootstrap's.
 */
export function estimateShare(samples: readonly Sample[], seed: number): Estimate {
  const clusters = clustersOf(samples)
  if (clusters.length === 0) return estimate(samples, seed)
  const binary = clusters.length === samples.length && samples.every((sample) => sample.value === 0 || sample.value === 1)
  const alike = clusters.every(({ sum, count }) => sum / count === (clusters[0]?.sum ?? 0) / (clusters[0]?.count ?? 1))
  if (!binary && !alike) return estimate(samples, seed)
  const value = meanOf(clusters, samples)
  return { mean: value, ...wilson(value, clusters.length), n: samples.length }
}

/** Wilson's 95 % interval of a share of `trials`. */
export function wilson(share: number, trials: number): Pick<Estimate, 'low' | 'high'> {
  const middle = share + Z ** 2 / (2 * trials)
  const half = Z * Math.sqrt((share * (1 - share)) / trials + Z ** 2 / (4 * trials ** 2))
  const scale = 1 + Z ** 2 / trials
  return { low: Math.max(0, (middle - half) / scale), high: Math.min(1, (middle + half) / scale) }
}
