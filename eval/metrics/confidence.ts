/**
 * Area under the ROC curve: the chance that a positive scores higher than a negative, ties counted half (Mann-Whitney).
 * NaN where one of the groups is empty.
 */
export function auroc(positives: readonly number[], negatives: readonly number[]): number {
  if (positives.length === 0 || negatives.length === 0) return Number.NaN
  const sorted = [...positives.map((score) => ({ score, positive: true })), ...negatives.map((score) => ({ score, positive: false }))].sort(
    (a, b) => a.score - b.score,
  )
  let rankSum = 0
  for (let from = 0; from < sorted.length;) {
    let to = from
    while (to < sorted.length && sorted[to]?.score === sorted[from]?.score) to++
    const meanRank = (from + 1 + to) / 2
    rankSum += meanRank * sorted.slice(from, to).filter((entry) => entry.positive).length
    from = to
  }
  const pairs = positives.length * negatives.length
  return (rankSum - (positives.length * (positives.length + 1)) / 2) / pairs
}

export interface CoveragePoint {
  /** Share of the questions answered when only the most confident answers are given. */
  readonly coverage: number
  /** Share of those that is wrong. */
  readonly risk: number
  /** Confidence from which answers are given. */
  readonly threshold: number
}

/**
 * Risk over coverage when answers below a confidence are withheld (El-Yaniv and Wiener 2010), one point per different
 * confidence, and the area under it (mean risk over the coverages of single questions; lower is better).
 */
export function riskCoverage(answers: readonly { readonly confidence: number; readonly correct: number }[]): {
  points: CoveragePoint[]
  area: number
} {
  const sorted = [...answers].sort((a, b) => b.confidence - a.confidence)
  const points: CoveragePoint[] = []
  let wrong = 0
  let area = 0
  sorted.forEach(({ confidence, correct }, i) => {
    wrong += 1 - correct
    if (sorted[i + 1]?.confidence === confidence) return
    const given = i + 1
    const before = points.at(-1)?.coverage ?? 0
    const point = { coverage: given / sorted.length, risk: wrong / given, threshold: confidence }
    area += point.risk * (point.coverage - before)
    points.push(point)
  })
  return { points, area: sorted.length === 0 ? Number.NaN : area }
}
