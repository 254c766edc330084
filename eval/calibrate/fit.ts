import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { seededRandom } from '../../base/random.ts'
import { type Calibration, type Quality, SIGNALS, type Signals } from '../../src/rag/calibration/calibration.ts'
import { auroc, calibrationError, logLoss, type JudgedAnswer } from '../metrics/confidence.ts'
import { fitLogistic, predict, type Examples } from './logistic.ts'

/** Signals of one answer with its judgement. */
export interface JudgedSignals {
  readonly signals: Signals
  readonly right: boolean
  /** False if the corpus does not answer the question. */
  readonly answerable: boolean
  /** Answers of a group are held out together, since they are correlated. */
  readonly group: string
}

export type Fitted = Pick<Calibration, 'l2' | 'bias' | 'signals' | 'cross_validated'>

/** Minimum number of right and of wrong answers: fewer would overfit. */
const LEAST_OF_EACH = 20
const FOLDS = 5
const PENALTIES = [0.3, 1, 3, 10, 30]

/**
 * Fits the mapping from signals to the probability of being right. The penalty has the lowest loss on held-out groups.
 * @param unanswerableShare assumed share of unanswerable questions; null: as given
 * @throws nothing_scored with too few right or wrong answers
 */
export function fitCalibration(answers: readonly JudgedSignals[], unanswerableShare: number | null): Fitted {
  const right = answers.filter((answer) => answer.right).length
  if (Math.min(right, answers.length - right) < LEAST_OF_EACH)
    throw new CodedError(
      'nothing_scored',
      `${right} answers are right and ${answers.length - right} wrong; a calibration needs ${LEAST_OF_EACH} of each. Give more questions, of both kinds.`,
    )
  const weights = weightsFor(answers, unanswerableShare)
  const folds = foldsOf(answers)
  const tried = PENALTIES.map((l2) => ({ l2, judged: heldOut(answers, weights, folds, l2) })).map(({ l2, judged }) => ({
    l2,
    judged,
    loss: logLoss(judged),
  }))
  const { l2, judged } = tried.reduce((best, next) => (next.loss < best.loss ? next : best))
  const { bias, means, scales, weights: found } = fitLogistic(examples(answers, weights), l2)
  const confidences = answers.map(({ signals, right }, i) => ({
    confidence: signals.confidence,
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
  const where = (correct: number) => answers.filter((answer) => answer.correct === correct).map(({ confidence }) => confidence)
  return { log_loss: logLoss(answers), ece: calibrationError(answers), auroc: auroc(where(1), where(0)) }
}

/** Weights for the assumed share of unanswerable questions; they sum to the number of answers. */
function weightsFor(answers: readonly JudgedSignals[], share: number | null): number[] {
  const without = answers.filter(({ answerable }) => !answerable).length
  if (share === null || without === 0 || without === answers.length) return answers.map(() => 1)
  return answers.map(({ answerable }) =>
    answerable ? ((1 - share) * answers.length) / (answers.length - without) : (share * answers.length) / without,
  )
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
  return Array.from({ length: FOLDS }, (_, fold) => fold).flatMap((fold) => {
    const kept = answers.flatMap((_, i) => (at(folds, i) === fold ? [] : [i]))
    const left = answers.flatMap((_, i) => (at(folds, i) === fold ? [i] : []))
    if (kept.length === 0 || left.length === 0) return []
    const model = fitLogistic(
      examples(
        kept.map((i) => at(answers, i)),
        kept.map((i) => at(weights, i)),
      ),
      l2,
    )
    return left.map((i) => ({
      confidence: predict(model, row(at(answers, i))),
      correct: Number(at(answers, i).right),
      weight: at(weights, i),
    }))
  })
}

function examples(answers: readonly JudgedSignals[], weights: readonly number[]): Examples {
  return { rows: answers.map(row), labels: answers.map(({ right }) => Number(right)), weights }
}

function row({ signals }: JudgedSignals): number[] {
  return SIGNALS.map((name) => signals[name])
}
