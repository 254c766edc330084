import type { EvalRecord } from '../run/record.ts'
import type { SettingSummary, Summary } from '../run/summary.ts'
import { mean } from '../statistics/bootstrap.ts'
import { givenAtCoverage, shareOfClassAbove, sureAnswers, type Measure, type SureAnswer } from './sureness.ts'

/** One line of the table that the shipped models are held to. */
export interface Target {
  readonly what: string
  readonly target: string
  readonly measured: string
  readonly met: boolean
}

const RECALL_DEPTH = 5
const MOST_LOST = 0.02

/** A confidence that a user takes for sure. */
const SURE = 0.9

/**
 * Holds the runs on the demo questions to the targets of the shipped models.
 * @param attributes the run on attributes: cepe at k = 10, 20 and 40, decoder-only, closed-book, with unanswerable questions
 * @param free the run on free sentences
 * @param records the questions of the run on attributes, the unanswerable ones among them
 */
export function demoTargets(attributes: Summary, free: Summary, records: readonly EvalRecord[]): Target[] {
  const { settings, retrieval } = attributes
  const em = (method: string, k: number) => find(settings, method, k).exactMatch.mean
  const [at10, at20, at40] = [em('cepe', 10), em('cepe', 20), em('cepe', 40)]
  const decoderOnly = find(settings, 'decoder-only', 40)
  const sure = sureAnswers(records, 10)
  return [
    atLeast(`recall@${RECALL_DEPTH} of the retriever, attributes`, recallOf(retrieval), 0.95),
    atLeast(`recall@${RECALL_DEPTH} of the retriever, free sentences`, recallOf(free.retrieval), 0.95),
    atLeast('exact match, attributes, cepe, k = 10', at10, 0.88),
    atLeast(`exact match, attributes, cepe, k = 20 (k = 10 less ${MOST_LOST})`, at20, at10 - MOST_LOST),
    atLeast(`exact match, attributes, cepe, k = 40 (k = 10 less ${MOST_LOST})`, at40, at10 - MOST_LOST),
    atLeast('exact match, free sentences, cepe, k = 10', find(free.settings, 'cepe', 10).exactMatch.mean, 0.55),
    below(
      `exact match, attributes, decoder-only with as many passages as fit (${decoderOnly.passagesInDecoder.toFixed(1)} on average)`,
      decoderOnly.exactMatch.mean,
      at20,
    ),
    below('exact match, attributes, closed-book', em('closed-book', 0), at20),
    ...['entity absent', 'entity present'].map((which) =>
      below(`unanswerable, ${which}: answered with confidence above ${SURE}, cepe, k = 10`, sureOf(records, which), 0.1),
    ),
    below(
      'unanswerable, entity present: answered where 0.6 of the attributes are, by probability_correct',
      presentAt(sure, 'probability_correct'),
      0.1,
    ),
    below('the same by confidence', presentAt(sure, 'confidence'), 0.1),
    below(
      `unanswerable, entity present: probability_correct above ${SURE}`,
      shareOfClassAbove(sure, 'probability_correct', 'entity present', SURE),
      0.1,
    ),
    atLeast(`attributes: probability_correct above ${SURE}`, shareOfClassAbove(sure, 'probability_correct', 'attribute', SURE), 0.6),
    atLeast(
      'AUROC of the confidence, answered right against unanswerable, cepe, k = 20',
      find(settings, 'cepe', 20).aurocUnanswerable,
      0.9,
    ),
  ]
}

function presentAt(answers: readonly SureAnswer[], measure: Measure): number {
  return givenAtCoverage(answers, measure, { covered: 'attribute', given: 'entity present', coverage: 0.6 })
}

function recallOf(retrieval: Summary['retrieval']): number {
  return retrieval?.recall.find(({ k }) => k === RECALL_DEPTH)?.estimate.mean ?? Number.NaN
}

/** Share of the unanswerable questions of a class that got an answer of which the reader is sure. */
function sureOf(records: readonly EvalRecord[], which: string): number {
  const asked = records.filter(({ answerable, skipped, groups }) => !answerable && !skipped && groups['class'] === which)
  return mean(
    asked.flatMap(({ predictions }) =>
      predictions.filter(({ method, k }) => method === 'cepe' && k === 10).map(({ confidence }) => Number(confidence > SURE)),
    ),
  )
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

/** The same as rows of a table. */
export function targetRows(targets: readonly Target[]): string[][] {
  return targets.map(({ what, target, measured, met }) => [what, target, measured, met ? 'met' : 'missed'])
}
