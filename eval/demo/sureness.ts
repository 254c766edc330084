import { bestOver, exactMatch } from '../metrics/answer.ts'
import { auroc, calibrationError, coverageAtRisk, type JudgedAnswer } from '../metrics/confidence.ts'
import { mean } from '../statistics/bootstrap.ts'
import type { EvalRecord, Prediction } from '../tasks/open-domain-qa/record.ts'
import type { SettingSummary, Summary } from '../tasks/open-domain-qa/summary.ts'
import type { Mode } from '../../src/text/plan.ts'

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

/** @param which class of the answers; all if absent */
function judged(answers: readonly SureAnswer[], measure: Measure, which?: string): JudgedAnswer[] {
  const of = which === undefined ? answers : answers.filter((answer) => answer.which === which)
  return of.map(({ right, prediction }) => ({ confidence: measureOf(prediction, measure), correct: right }))
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
  return [...new Set(answers.map(({ which }) => which)), undefined].flatMap((which) =>
    MEASURES.map((measure) => {
      const sure = judged(answers, measure, which)
      const where = (correct: number) => sure.filter((answer) => answer.correct === correct).map(({ confidence }) => confidence)
      return [
        which ?? 'all',
        String(sure.length),
        number(mean(sure.map(({ correct }) => correct))),
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
  const sure = judged(answers, measure, covered)
    .map(({ confidence }) => confidence)
    .sort((a, b) => b - a)
  const threshold = sure[Math.ceil(coverage * sure.length) - 1]
  return threshold === undefined
    ? Number.NaN
    : mean(judged(answers, measure, given).map(({ confidence }) => Number(confidence >= threshold)))
}

/** Share of a class's answers with a measure above a threshold. */
export function shareOfClassAbove(answers: readonly SureAnswer[], measure: Measure, which: string, least: number): number {
  return shareAbove(judged(answers, measure, which), least)
}

function shareAbove(answers: readonly JudgedAnswer[], least: number): number {
  return mean(answers.map(({ confidence }) => Number(confidence > least)))
}

function number(value: number, none = '-'): string {
  return Number.isNaN(value) ? none : value.toFixed(3)
}

/** One target of the shipped models. */
export interface Target {
  readonly what: string
  readonly target: string
  readonly measured: string
  readonly met: boolean
}

const RECALL_DEPTH = 5
const MOST_LOST = 0.02

/** Confidence that counts as certain. */
const SURE = 0.9

/** The evaluated setting of the shipped reader: its mode and number of passages, and larger numbers. */
export interface Subject {
  readonly method: Mode
  readonly k: number
  readonly more: readonly number[]
}

/**
 * Compares the runs on the demo questions with the targets of the shipped models.
 * @param attributes the run on attributes: the reader's mode at k and above, closed-book, with unanswerable questions
 * @param free the run on free sentences
 * @param records the questions of the run on attributes, including unanswerable ones
 * @throws if a run lacks a setting
 */
export function demoTargets(attributes: Summary, free: Summary, records: readonly EvalRecord[], subject: Subject): Target[] {
  const { settings, retrieval } = attributes
  const { method, k, more } = subject
  const em = (of: readonly SettingSummary[], at: number) => find(of, method, at).exactMatch.mean
  const own = em(settings, k)
  const sure = sureAnswers(records, subject)
  const named = `${method}, k = `
  return [
    atLeast(`recall@${RECALL_DEPTH} of the retriever, attributes`, recallOf(retrieval), 0.95),
    atLeast(`recall@${RECALL_DEPTH} of the retriever, free sentences`, recallOf(free.retrieval), 0.95),
    atLeast(`exact match, attributes, ${named}${k}`, own, 0.88),
    ...more.map((at) => atLeast(`exact match, attributes, ${named}${at} (k = ${k} less ${MOST_LOST})`, em(settings, at), own - MOST_LOST)),
    atLeast(`exact match, free sentences, ${named}${k}`, em(free.settings, k), 0.6),
    below('exact match, attributes, closed-book', find(settings, 'closed-book', 0).exactMatch.mean, own),
    ...['entity absent', 'entity present'].map((which) =>
      below(`unanswerable, ${which}: probability_correct above ${SURE}`, shareOfClassAbove(sure, 'probability_correct', which, SURE), 0.05),
    ),
    below(
      'unanswerable, entity present: answered where 0.6 of the attributes are, by probability_correct',
      presentAt(sure, 'probability_correct'),
      0.1,
    ),
    below('the same by confidence', presentAt(sure, 'confidence'), 0.1),
    atLeast(`attributes: probability_correct above ${SURE}`, shareOfClassAbove(sure, 'probability_correct', 'attribute', SURE), 0.6),
    atLeast(
      `AUROC of the confidence, answered right against unanswerable, ${named}${k}`,
      find(settings, method, k).aurocUnanswerable,
      0.88,
    ),
  ]
}

function presentAt(answers: readonly SureAnswer[], measure: Measure): number {
  return givenAtCoverage(answers, measure, { covered: 'attribute', given: 'entity present', coverage: 0.6 })
}

function recallOf(retrieval: Summary['retrieval']): number {
  return retrieval?.recall.find(({ k }) => k === RECALL_DEPTH)?.estimate.mean ?? Number.NaN
}

function atLeast(what: string, value: number, wanted: number): Target {
  return { what, target: `>= ${number(wanted)}`, measured: number(value, 'not measured'), met: value >= wanted }
}
function below(what: string, value: number, limit: number): Target {
  return { what, target: `< ${number(limit)}`, measured: number(value, 'not measured'), met: value < limit }
}

function find(settings: readonly SettingSummary[], method: string, k: number): SettingSummary {
  const setting = settings.find((candidate) => candidate.method === method && candidate.k === k)
  if (setting === undefined) throw new Error(`The demo run has no ${method} at k = ${k}. This is a bug.`)
  return setting
}

/** Targets as table rows. */
export function targetRows(targets: readonly Target[]): string[][] {
  return targets.map(({ what, target, measured, met }) => [what, target, measured, met ? 'met' : 'missed'])
}
