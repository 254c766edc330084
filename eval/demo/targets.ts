import type { EvalRecord } from '../tasks/open-domain-qa/record.ts'
import type { SettingSummary, Summary } from '../tasks/open-domain-qa/summary.ts'
import type { Mode } from '../../src/text/plan.ts'
import { givenAtCoverage, shareOfClassAbove, sureAnswers, type Measure, type SureAnswer } from './sureness.ts'

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
  return { what, target: `>= ${number(wanted)}`, measured: number(value), met: value >= wanted }
}
function below(what: string, value: number, limit: number): Target {
  return { what, target: `< ${number(limit)}`, measured: number(value), met: value < limit }
}

function find(settings: readonly SettingSummary[], method: string, k: number): SettingSummary {
  const setting = settings.find((candidate) => candidate.method === method && candidate.k === k)
  if (setting === undefined) throw new Error(`The demo run has no ${method} at k = ${k}. This is a bug.`)
  return setting
}

function number(value: number): string {
  return Number.isNaN(value) ? 'not measured' : value.toFixed(3)
}

/** Targets as table rows. */
export function targetRows(targets: readonly Target[]): string[][] {
  return targets.map(({ what, target, measured, met }) => [what, target, measured, met ? 'met' : 'missed'])
}
