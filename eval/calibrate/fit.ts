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
  const total = answers.reduce((sum, answer) => sum + weightOf(answer), 0)
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
    design.reduce((sum, { row, label, weight }) => sum + weight * crossEntropy(dot(row, theta), label), 0) +
    theta.reduce((sum, value, i) => sum + (penalty(i) / 2) * value ** 2, 0)

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
  return sigmoid(row.reduce((sum, value, i) => sum + (at(weights, i) * (value - at(means, i))) / at(scales, i), bias))
}

function derivatives(examples: readonly Example[], theta: readonly number[], penalty: (i: number) => number) {
  const size = theta.length
  const gradient = theta.map((value, i) => penalty(i) * value)
  // The bias has no penalty; a tiny one keeps the matrix regular if all labels are equal.
  const hessian = columns(size, (i) => columns(size, (j) => (i === j ? penalty(i) + CONVERGED : 0)))
  for (const { row: x, label, weight } of examples) {
    const p = sigmoid(dot(x, theta))
    const error = weight * (p - label)
    const curvature = weight * p * (1 - p)
    for (let i = 0; i < size; i++) {
      const row = at(hessian, i)
      gradient[i] = at(gradient, i) + error * at(x, i)
      for (let j = 0; j < size; j++) row[j] = at(row, j) + curvature * at(x, i) * at(x, j)
    }
  }
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

function weighedMean(examples: readonly Example[], value: (row: readonly number[]) => number): number {
  const total = examples.reduce((sum, { weight }) => sum + weight, 0)
  return examples.reduce((sum, { row, weight }) => sum + weight * value(row), 0) / total
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
