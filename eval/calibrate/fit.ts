import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { seededRandom } from '../../base/random.ts'
import { type Calibration, type Quality, SIGNALS, type Signals } from '../../src/rag/calibration.ts'
import { aurocCorrect, calibrationError, type JudgedAnswer, logLoss } from '../metrics/confidence.ts'

export interface JudgedSignals {
  readonly signals: Signals
  readonly right: boolean
  /** False if the corpus does not answer the question. */
  readonly answerable: boolean
  /** Answers of a group are held out together, since they are correlated. */
  readonly group: string
}

type AskedQuestions = Readonly<Record<'answerable' | 'unanswerable', number>>

/** Minimum number of right and of wrong answers: fewer would overfit. */
const LEAST_OF_EACH = 20
const FOLDS = 5
const PENALTIES = [0.3, 1, 3, 10, 30]

/**
 * Fits the mapping from signals to the probability of being right. The penalty has the lowest loss on held-out groups.
 * @param unanswerableShare assumed share of unanswerable questions among those asked; null: as given
 * @throws nothing_scored with too few right or wrong answers
 */
export function fitCalibration(
  answers: readonly JudgedSignals[],
  unanswerableShare: number | null,
  asked: AskedQuestions,
): Pick<Calibration, 'l2' | 'bias' | 'signals' | 'cross_validated'> {
  const right = answers.filter((answer) => answer.right).length
  if (Math.min(right, answers.length - right) < LEAST_OF_EACH)
    throw new CodedError(
      'nothing_scored',
      `${right} answers are right and ${answers.length - right} wrong; a calibration needs ${LEAST_OF_EACH} of each. Give more questions, of both kinds.`,
    )
  const weights = weightsFor(answers, unanswerableShare, asked)
  const folds = foldsOf(answers)
  const tried = PENALTIES.map((l2) => {
    const judged = heldOut(answers, weights, folds, l2)
    return { l2, judged, loss: logLoss(judged) }
  })
  const { l2, judged } = tried.reduce((best, next) => (next.loss < best.loss ? next : best))
  const { bias, means, scales, weights: found } = fitLogistic(examples(answers, weights), l2)
  const confidences = answers.map(({ signals: { confidence }, right }, i) => ({
    confidence,
    correct: Number(right),
    weight: at(weights, i),
  }))
  return {
    l2,
    bias,
    signals: SIGNALS.map((name, i) => ({ name, mean: at(means, i), scale: at(scales, i), weight: at(found, i) })),
    cross_validated: { probability: quality(judged), confidence: quality(confidences) },
  }
}

function quality(answers: readonly JudgedAnswer[]): Quality {
  return { log_loss: logLoss(answers), ece: calibrationError(answers), auroc: aurocCorrect(answers) }
}

/** Weights for the assumed share of unanswerable questions, of which a reader may leave more without an answer; they sum to the number of answers. */
function weightsFor(answers: readonly JudgedSignals[], share: number | null, asked: AskedQuestions): number[] {
  if (share === null || asked.answerable === 0 || asked.unanswerable === 0) return answers.map(() => 1)
  const weights = answers.map(({ answerable }) => (answerable ? (1 - share) / asked.answerable : share / asked.unanswerable))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => (weight * answers.length) / total)
}

/** Fold of each answer: groups are assigned in a fixed order. */
function foldsOf(answers: readonly JudgedSignals[]): number[] {
  const random = seededRandom('folds', 0)
  const groups = [...new Set(answers.map(({ group }) => group))]
    .map((group) => ({ group, order: random() }))
    .sort((a, b) => a.order - b.order)
  const folds = new Map(groups.map(({ group }, i) => [group, i % FOLDS]))
  return answers.map(({ group }) => folds.get(group) ?? 0)
}

/** Judges every answer by a fit without its fold. */
function heldOut(answers: readonly JudgedSignals[], weights: readonly number[], folds: readonly number[], l2: number): JudgedAnswer[] {
  return columns(FOLDS, (fold) => fold).flatMap((fold) => {
    const isIn = (_: unknown, i: number) => at(folds, i) === fold
    const isOut = (_: unknown, i: number) => at(folds, i) !== fold
    const [kept, left, weightsLeft] = [answers.filter(isOut), answers.filter(isIn), weights.filter(isIn)]
    if (kept.length === 0 || left.length === 0) return []
    const model = fitLogistic(examples(kept, weights.filter(isOut)), l2)
    return left.map((answer, i) => ({ confidence: predict(model, row(answer)), correct: Number(answer.right), weight: at(weightsLeft, i) }))
  })
}

function examples(answers: readonly JudgedSignals[], weights: readonly number[]): Examples {
  return { rows: answers.map(row), labels: answers.map(({ right }) => Number(right)), weights }
}

function row({ signals }: JudgedSignals): number[] {
  return SIGNALS.map((name) => signals[name])
}

interface Examples {
  readonly rows: readonly (readonly number[])[]
  /** 0 or 1 for each row. */
  readonly labels: readonly number[]
  /** Weight of each row; they sum to the number of rows. */
  readonly weights: readonly number[]
}

/** p = 1 / (1 + exp(-(bias + sum_i weights[i] (row[i] - means[i]) / scales[i]))) */
type Logistic = ReturnType<typeof fitLogistic>

/** Newton's method doubles the correct digits per step: far fewer are needed. */
const MOST_STEPS = 100
const CONVERGED = 1e-10
/** A constant column has no information; its scale must not be 0. */
const LEAST_SCALE = 1e-9

/**
 * Logistic regression with a squared penalty, l2/2 |weights|^2 on the summed loss, without the bias: standardised columns, Newton's method
 * with step halving (Hastie, Tibshirani, Friedman, section 4.4).
 * @param l2 above 0
 */
export function fitLogistic({ rows, labels, weights }: Examples, l2: number) {
  const width = at(rows, 0).length
  const means = columns(width, (i) => weighedMean(rows, weights, (row) => at(row, i)))
  const scales = columns(width, (i) =>
    Math.max(LEAST_SCALE, Math.sqrt(weighedMean(rows, weights, (row) => (at(row, i) - at(means, i)) ** 2))),
  )
  const design = rows.map((row) => [1, ...row.map((value, i) => (value - at(means, i)) / at(scales, i))])
  const penalty = (i: number): number => (i === 0 ? 0 : l2)
  const loss = (theta: readonly number[]): number =>
    design.reduce((sum, x, n) => sum + at(weights, n) * crossEntropy(dot(x, theta), at(labels, n)), 0) +
    theta.reduce((sum, value, i) => sum + (penalty(i) / 2) * value ** 2, 0)

  let theta: number[] = columns(width + 1, () => 0)
  let current = loss(theta)
  for (let step = 0; step < MOST_STEPS; step++) {
    const { gradient, hessian } = derivatives({ rows: design, labels, weights }, theta, penalty)
    const direction = solve(hessian, gradient)
    let rate = 1
    let next = theta
    let reached = Infinity
    for (; rate > CONVERGED && reached > current; rate /= 2) {
      const tried = rate
      next = theta.map((value, i) => value - tried * at(direction, i))
      reached = loss(next)
    }
    if (!(reached < current)) break
    const gained = current - reached
    theta = next
    current = reached
    if (gained < CONVERGED) break
  }
  return { bias: at(theta, 0), means, scales, weights: theta.slice(1) }
}

/** The probability of label 1 for a row. */
export function predict({ bias, means, scales, weights }: Logistic, row: readonly number[]): number {
  return sigmoid(row.reduce((sum, value, i) => sum + (at(weights, i) * (value - at(means, i))) / at(scales, i), bias))
}

function derivatives(
  { rows, labels, weights }: Examples,
  theta: readonly number[],
  penalty: (i: number) => number,
): { gradient: number[]; hessian: number[][] } {
  const size = theta.length
  const gradient = theta.map((value, i) => penalty(i) * value)
  // The bias has no penalty; a tiny one keeps the matrix regular if all labels are equal.
  const hessian = columns(size, (i) => columns(size, (j) => (i === j ? penalty(i) + CONVERGED : 0)))
  rows.forEach((x, n) => {
    const p = sigmoid(dot(x, theta))
    const error = at(weights, n) * (p - at(labels, n))
    const curvature = at(weights, n) * p * (1 - p)
    for (let i = 0; i < size; i++) {
      const row = at(hessian, i)
      gradient[i] = at(gradient, i) + error * at(x, i)
      for (let j = 0; j < size; j++) row[j] = at(row, j) + curvature * at(x, i) * at(x, j)
    }
  })
  return { gradient, hessian }
}

/** Solves matrix x = vector by Gaussian elimination with row exchange. */
function solve(matrix: readonly (readonly number[])[], vector: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, at(vector, i)])
  const size = rows.length
  for (let column = 0; column < size; column++) {
    let pivot = column
    for (let i = column + 1; i < size; i++) if (Math.abs(at(at(rows, i), column)) > Math.abs(at(at(rows, pivot), column))) pivot = i
    const chosen = at(rows, pivot)
    rows[pivot] = at(rows, column)
    rows[column] = chosen
    for (let i = column + 1; i < size; i++) {
      const row = at(rows, i)
      const factor = at(row, column) / at(chosen, column)
      for (let j = column; j <= size; j++) row[j] = at(row, j) - factor * at(chosen, j)
    }
  }
  const solution: number[] = columns(size, () => 0)
  for (let i = size - 1; i >= 0; i--) {
    const row = at(rows, i)
    let left = at(row, size)
    for (let j = i + 1; j < size; j++) left -= at(row, j) * at(solution, j)
    solution[i] = left / at(row, i)
  }
  return solution
}

function columns<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i))
}

function weighedMean(rows: Examples['rows'], weights: readonly number[], value: (row: readonly number[]) => number): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return rows.reduce((sum, row, n) => sum + at(weights, n) * value(row), 0) / total
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * at(b, i), 0)
}

function sigmoid(z: number): number {
  return 1 / (1 + Math.exp(-z))
}

/** -log of the probability of a label, without overflow. */
function crossEntropy(z: number, label: number): number {
  return Math.max(z, 0) - z * label + Math.log1p(Math.exp(-Math.abs(z)))
}
