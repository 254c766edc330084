import { mean } from '../statistics/bootstrap.ts'
import { mcnemar, pairedBootstrap, type PairedDifference, pText } from '../statistics/paired.ts'
import { type Block, table } from './blocks.ts'

/** A score that items of two runs have in one setting. */
export interface Compared<Item> {
  readonly setting: string
  readonly metric: string
  /** Factor of the shown values: 100 for percent. */
  readonly scale: number
  readonly digits: number
  /** Undefined: not scored. */
  readonly scoreOf: (item: Item) => number | undefined
}

export interface Comparison extends PairedDifference, Omit<Compared<never>, 'scoreOf'> {
  /** Means of the two runs. */
  readonly a: number
  readonly b: number
  /** Undefined for scores other than right and wrong. */
  readonly mcnemarP: number | undefined
}

/** Compares every score over the pairs that both runs have; scores without pairs are left out. */
export function compareItems<Item>(
  pairs: readonly (readonly [Item, Item])[],
  all: readonly Compared<Item>[],
  { clusterOf, seed }: { readonly clusterOf: (item: Item) => string; readonly seed: number },
): Comparison[] {
  return all.flatMap(({ scoreOf, ...compared }) => {
    const scores = pairs.flatMap(([first, second]) => {
      const [a, b] = [scoreOf(first), scoreOf(second)]
      return a === undefined || b === undefined ? [] : [{ cluster: clusterOf(first), a, b }]
    })
    if (scores.length === 0) return []
    const isBinary = scores.every(({ a, b }) => [a, b].every((score) => score === 0 || score === 1))
    const mcnemarP = isBinary ? mcnemar(scores.filter(({ a, b }) => a > b).length, scores.filter(({ a, b }) => a < b).length) : undefined
    return [
      { ...compared, ...pairedBootstrap(scores, seed), a: mean(scores.map(({ a }) => a)), b: mean(scores.map(({ b }) => b)), mcnemarP },
    ]
  })
}

/** Differences are second minus first. */
export function comparisonTable(comparisons: readonly Comparison[]): Block {
  return table(
    ['setting', 'metric', 'items', 'first', 'second', 'difference', 'p (bootstrap)', 'p (McNemar)'],
    comparisons.map(({ setting, metric, scale, digits, n, a, b, difference, low, high, p, mcnemarP }) => {
      const number = (value: number) => (scale * value).toFixed(digits)
      const change = `${difference > 0 ? '+' : ''}${number(difference)} (${number(low)}, ${number(high)})`
      return [setting, metric, String(n), number(a), number(b), change, pText(p), mcnemarP === undefined ? '-' : pText(mcnemarP)]
    }),
    2,
  )
}
