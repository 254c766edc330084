import { bestOver, exactMatch } from '../metrics/answer.ts'
import { auroc, calibrationError, coverageAtRisk, type JudgedAnswer } from '../metrics/confidence.ts'
import type { EvalRecord, Prediction } from '../tasks/open-domain-qa/record.ts'
import { mean } from '../statistics/bootstrap.ts'

/** The two measures of an answer's certainty. */
export type Measure = 'confidence' | 'probability_correct'
const MEASURES: readonly Measure[] = ['confidence', 'probability_correct']

/** Accepted share of wrong answers. */
const RISK = 0.1

/** An answer in one setting, with its class. */
export interface SureAnswer {
  readonly which: string
  readonly right: number
  readonly prediction: Prediction
}

/** The answers of a run in one setting. */
export function sureAnswers(records: readonly EvalRecord[], { method, k }: Pick<Prediction, 'method' | 'k'>): SureAnswer[] {
  return records.flatMap(({ predictions, groups, answers, answerable, skipped }) =>
    skipped
      ? []
      : predictions
          .filter((prediction) => prediction.method === method && prediction.k === k)
          .map((prediction) => ({
            which: classOf(groups),
            right: answerable ? bestOver(exactMatch, prediction.answer, answers) : 0,
            prediction,
          })),
  )
}

function classOf({ class: which = 'all' }: EvalRecord['groups']): string {
  return which
}

/** An answer without a measure, an empty one, counts as least certain. */
function measureOf({ confidence, probability_correct: probability }: Prediction, measure: Measure): number {
  return measure === 'confidence' ? confidence : (probability ?? 0)
}

function judged(answers: readonly SureAnswer[], measure: Measure): JudgedAnswer[] {
  return answers.map(({ right, prediction }) => ({ confidence: measureOf(prediction, measure), correct: right }))
}

export const SURENESS_HEADER = [
  'class',
  'answers',
  'right',
  'measure',
  'mean',
  'above 0.9',
  'expected calibration error',
  `coverage at ${100 * RISK} % risk`,
  'AUROC',
]

/** One row per class and measure, and two for all classes together. */
export function surenessRows(answers: readonly SureAnswer[]): string[][] {
  const classes = [...new Set(answers.map(({ which }) => which))]
  const groups = [
    ...classes.map((which) => ({ which, of: answers.filter((answer) => answer.which === which) })),
    { which: 'all', of: answers },
  ]
  return groups.flatMap(({ which, of }) =>
    MEASURES.map((measure) => {
      const sure = judged(of, measure)
      const where = (correct: number) => sure.filter((answer) => answer.correct === correct).map(({ confidence }) => confidence)
      return [
        which,
        String(of.length),
        number(mean(of.map(({ right }) => right))),
        measure,
        number(mean(sure.map(({ confidence }) => confidence))),
        number(shareAbove(sure, 0.9)),
        number(calibrationError(sure)),
        number(coverageAtRisk(sure, RISK)),
        number(auroc(where(1), where(0))),
      ]
    }),
  )
}

/**
 * Share of the answers of one class that are given at a threshold set by another.
 * @param coverage share of the `covered` class's answers that is given
 */
export function givenAtCoverage(
  answers: readonly SureAnswer[],
  measure: Measure,
  { covered, given, coverage }: { covered: string; given: string; coverage: number },
): number {
  const of = (which: string) =>
    judged(
      answers.filter((answer) => answer.which === which),
      measure,
    )
  const sure = of(covered)
    .map(({ confidence }) => confidence)
    .sort((a, b) => b - a)
  const threshold = sure[Math.ceil(coverage * sure.length) - 1]
  return threshold === undefined ? Number.NaN : mean(of(given).map(({ confidence }) => Number(confidence >= threshold)))
}

/** Share of a class's answers with a measure above a threshold. */
export function shareOfClassAbove(answers: readonly SureAnswer[], measure: Measure, which: string, least: number): number {
  return shareAbove(
    judged(
      answers.filter((answer) => answer.which === which),
      measure,
    ),
    least,
  )
}

function shareAbove(answers: readonly JudgedAnswer[], least: number): number {
  return mean(answers.map(({ confidence }) => Number(confidence > least)))
}

function number(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(3)
}
