/** Area under the ROC curve: how often a positive scores above a negative, ties half (Mann-Whitney). NaN if one group is empty. */
export function auroc(positives: readonly number[], negatives: readonly number[]): number {
  if (positives.length === 0 || negatives.length === 0) return Number.NaN
  const scored = (scores: readonly number[], positive: boolean) => scores.map((score) => ({ score, positive }))
  const sorted = [...scored(positives, true), ...scored(negatives, false)].sort((a, b) => a.score - b.score)
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

/**
 * Risk over coverage when answers below a confidence are withheld (El-Yaniv and Wiener 2010), one point per different
 * confidence, and the area under it (mean risk over the coverages of single questions; lower is better).
 */
export function riskCoverage(answers: readonly { readonly confidence: number; readonly correct: number }[]) {
  const sorted = [...answers].sort((a, b) => b.confidence - a.confidence)
  // The share of questions answered above a confidence, and of wrong answers among them.
  const points: { readonly coverage: number; readonly risk: number }[] = []
  let wrong = 0
  let area = 0
  sorted.forEach(({ confidence, correct }, i) => {
    wrong += 1 - correct
    if (sorted[i + 1]?.confidence === confidence) return
    const given = i + 1
    const before = points.at(-1)?.coverage ?? 0
    const point = { coverage: given / sorted.length, risk: wrong / given }
    area += point.risk * (point.coverage - before)
    points.push(point)
  })
  return { points, area: sorted.length === 0 ? Number.NaN : area }
}

/** An answer with its confidence and correctness (1 or 0). */
export interface JudgedAnswer {
  readonly confidence: number
  readonly correct: number
  /** Weight; default 1. */
  readonly weight?: number
}

/** Of right answers against wrong ones. */
export function aurocCorrect(answers: readonly JudgedAnswer[]): number {
  const where = (wanted: number) => answers.filter(({ correct }) => correct === wanted).map(({ confidence }) => confidence)
  return auroc(where(1), where(0))
}

const BINS = 10

/**
 * Expected calibration error: answers in ten bins of equal width by confidence, the mean distance between a bin's confidence
 * and its share of right answers, weighed by its size (Guo et al. 2017). NaN without answers.
 */
export function calibrationError(answers: readonly JudgedAnswer[]): number {
  const gaps = new Map<number, number>()
  for (const { confidence, correct, weight = 1 } of answers) {
    const bin = Math.min(BINS - 1, Math.floor(confidence * BINS))
    gaps.set(bin, (gaps.get(bin) ?? 0) + weight * (confidence - correct))
  }
  return [...gaps.values()].reduce((sum, gap) => sum + Math.abs(gap), 0) / weightOf(answers)
}

/** Weight of all answers. */
function weightOf(answers: readonly JudgedAnswer[]): number {
  return answers.reduce((sum, { weight = 1 }) => sum + weight, 0)
}

/** Mean negative log-likelihood of what was right and wrong. NaN without answers. */
export function logLoss(answers: readonly JudgedAnswer[]): number {
  const lossOf = ({ confidence, correct, weight = 1 }: JudgedAnswer): number =>
    -weight * Math.log(Math.max(Number.MIN_VALUE, correct ? confidence : 1 - confidence))
  return answers.reduce((sum, answer) => sum + lossOf(answer), 0) / weightOf(answers)
}

/** Largest share of answers, most confident first, with at most this share of wrong ones. */
export function coverageAtRisk(answers: readonly JudgedAnswer[], risk: number): number {
  if (answers.length === 0) return Number.NaN
  return riskCoverage(answers).points.findLast((point) => point.risk <= risk)?.coverage ?? 0
}
