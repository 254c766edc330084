import { at, sum } from '../../base/at.ts'
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
  const message = `${right} answers are right and ${answers.length - right} wrong; a calibration needs ${LEAST_OF_EACH} of each. Give more questions, of both kinds.`
  if (Math.min(right, answers.length - right) < LEAST_OF_EACH) throw new CodedError('nothing_scored', message)
  const examples = examplesOf(answers, unanswerableShare, asked)
  const tried = PENALTIES.map((l2) => {
    const judged = heldOut(examples, l2)
    return { l2, judged, loss: logLoss(judged) }
  })
  const { l2, judged } = tried.reduce((best, next) => (next.loss < best.loss ? next : best))
  const { bias, means, scales, weights } = fitLogistic(examples, l2)
  const confidences = examples.map(({ confidence, label, weight }) => ({ confidence, correct: label, weight }))
  return {
    l2,
    bias,
    signals: SIGNALS.map((name, i) => ({ name, mean: at(means, i), scale: at(scales, i), weight: at(weights, i) })),
    cross_validated: { probability: quality(judged), confidence: quality(confidences) },
  }
}

function quality(answers: readonly JudgedAnswer[]): Quality {
  return { log_loss: logLoss(answers), ece: calibrationError(answers), auroc: aurocCorrect(answers) }
}

/**
 * Answers to fit on, with their folds. Weights follow the assumed share of unanswerable questions, of which a reader may leave more without
 * an answer; they sum to the number of answers. Groups are assigned to folds in a fixed order.
 */
function examplesOf(answers: readonly JudgedSignals[], share: number | null, asked: AskedQuestions) {
  const weightOf = ({ answerable }: JudgedSignals): number => {
    if (share === null || asked.answerable === 0 || asked.unanswerable === 0) return 1
    return answerable ? (1 - share) / asked.answerable : share / asked.unanswerable
  }
  const total = sum(answers.map(weightOf))
  const random = seededRandom('folds', 0)
  const groups = [...new Set(answers.map(({ group }) => group))]
    .map((group) => ({ group, order: random() }))
    .sort((a, b) => a.order - b.order)
  const folds = new Map(groups.map(({ group }, i) => [group, i % FOLDS]))
  return answers.map((answer) => ({
    row: SIGNALS.map((name) => answer.signals[name]),
    label: Number(answer.right),
    weight: (weightOf(answer) * answers.length) / total,
    confidence: answer.signals.confidence,
    fold: folds.get(answer.group),
  }))
}

/** Judges every answer by a fit without its fold. */
function heldOut(all: ReturnType<typeof examplesOf>, l2: number): JudgedAnswer[] {
  return columns(FOLDS, (fold) => fold).flatMap((fold) => {
    const [kept, left] = [all.filter((example) => example.fold !== fold), all.filter((example) => example.fold === fold)]
    if (kept.length === 0 || left.length === 0) return []
    const model = fitLogistic(kept, l2)
    return left.map(({ row, label, weight }) => ({ confidence: predict(model, row), correct: label, weight }))
  })
}

interface Example {
  readonly row: readonly number[]
  /** 0 or 1. */
  readonly label: number
  /** All of them sum to the number of examples. */
  readonly weight: number
}

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
export function fitLogistic(examples: readonly Example[], l2: number) {
  const width = at(examples, 0).row.length
  const means = columns(width, (i) => weighedMean(examples, (row) => at(row, i)))
  const scales = columns(width, (i) => Math.max(LEAST_SCALE, Math.sqrt(weighedMean(examples, (row) => (at(row, i) - at(means, i)) ** 2))))
  const standardised = (row: readonly number[]) => row.map((value, i) => (value - at(means, i)) / at(scales, i))
  const design = examples.map((example) => ({ ...example, row: [1, ...standardised(example.row)] }))
  const penalty = (i: number): number => (i === 0 ? 0 : l2)
  const loss = (theta: readonly number[]): number =>
    sum(design.map(({ row, label, weight }) => weight * crossEntropy(dot(row, theta), label))) +
    sum(theta.map((value, i) => (penalty(i) / 2) * value ** 2))

  let theta: number[] = columns(width + 1, () => 0)
  let current = loss(theta)
  for (let step = 0; step < MOST_STEPS; step++) {
    const { gradient, hessian } = derivatives(design, theta, penalty)
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

/** The probability of label 1 for a row: 1 / (1 + exp(-(bias + sum_i weights[i] (row[i] - means[i]) / scales[i]))). */
export function predict({ bias, means, scales, weights }: ReturnType<typeof fitLogistic>, row: readonly number[]): number {
  return sigmoid(bias + sum(row.map((value, i) => (at(weights, i) * (value - at(means, i))) / at(scales, i))))
}

function derivatives(examples: readonly Example[], theta: readonly number[], penalty: (i: number) => number) {
  const slopes = examples.map(({ row, label, weight }) => {
    const p = sigmoid(dot(row, theta))
    return { row, error: weight * (p - label), curvature: weight * p * (1 - p) }
  })
  const total = (of: (slope: (typeof slopes)[number]) => number): number => sum(slopes.map(of))
  const gradient = theta.map((value, i) => penalty(i) * value + total(({ row, error }) => error * at(row, i)))
  // The bias has no penalty; a tiny one keeps the matrix regular if all labels are equal.
  const diagonal = (i: number, j: number): number => (i === j ? penalty(i) + CONVERGED : 0)
  const hessian = theta.map((_, i) =>
    theta.map((_, j) => diagonal(i, j) + total(({ row, curvature }) => curvature * at(row, i) * at(row, j))),
  )
  return { gradient, hessian }
}

/** Solves matrix x = vector by Gauss-Jordan elimination; the matrix is positive definite, and needs no exchange of rows. */
function solve(matrix: readonly (readonly number[])[], vector: readonly number[]): number[] {
  let rows = matrix.map((row, i) => [...row, at(vector, i)])
  for (let column = 0; column < vector.length; column++) {
    const pivot = at(at(rows, column), column)
    const chosen = at(rows, column).map((value) => value / pivot)
    rows = rows.map((row, i) => (i === column ? chosen : row.map((value, j) => value - at(row, column) * at(chosen, j))))
  }
  return rows.map((row) => at(row, vector.length))
}

function columns<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i))
}

function weighedMean(examples: readonly Example[], value: (row: readonly number[]) => number): number {
  return sum(examples.map(({ row, weight }) => weight * value(row))) / sum(examples.map(({ weight }) => weight))
}

function dot(a: readonly number[], b: readonly number[]): number {
  return sum(a.map((value, i) => value * at(b, i)))
}

function sigmoid(z: number): number {
  return 1 / (1 + Math.exp(-z))
}

/** -log of the probability of a label, without overflow. */
function crossEntropy(z: number, label: number): number {
  return Math.max(z, 0) - z * label + Math.log1p(Math.exp(-Math.abs(z)))
}
