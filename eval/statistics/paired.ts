import { bootstrapMeans, interval, mean } from './bootstrap.ts'

const RESAMPLES = 10_000

/** Scores of the same item in two runs. */
type Pair = Readonly<{ cluster: string; a: number; b: number }>

/**
 * Difference b - a by paired bootstrap over questions (Efron and Tibshirani; Koehn 2004 for its use on systems' scores): differences are resampled by cluster;
 * p is twice the smaller share of resamples on the other side of zero, at least 1 / (resamples + 1).
 */
export function pairedBootstrap(pairs: readonly Pair[], seed: number) {
  const differences = pairs.map(({ cluster, a, b }) => ({ cluster, value: b - a }))
  const means = bootstrapMeans(differences, seed, RESAMPLES)
  const notAbove = means.filter((value) => value <= 0).length
  const notBelow = means.filter((value) => value >= 0).length
  return {
    difference: mean(differences.map(({ value }) => value)),
    ...interval(means),
    p: Math.min(1, (2 * (Math.min(notAbove, notBelow) + 1)) / (RESAMPLES + 1)),
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

export function pText(value: number): string {
  return value < 0.001 ? '< 0.001' : value.toFixed(3)
}
