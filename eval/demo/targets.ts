import type { SettingSummary, Summary } from '../run/summary.ts'

/** One line of the table that the shipped models are held to. */
export interface Target {
  readonly what: string
  readonly target: string
  readonly measured: string
  readonly met: boolean
}

const RECALL_DEPTH = 5
const MOST_LOST = 0.02

/** Holds a run on the demo questions (cepe at k = 10, 20 and 40, decoder-only, closed-book, unanswerable questions) to the targets of the shipped models. */
export function demoTargets({ settings, retrieval }: Summary): Target[] {
  const em = (method: string, k: number) => find(settings, method, k).exactMatch.mean
  const [at10, at20, at40] = [em('cepe', 10), em('cepe', 20), em('cepe', 40)]
  const recall = retrieval?.recall.find(({ k }) => k === RECALL_DEPTH)?.estimate.mean ?? Number.NaN
  const decoderOnly = find(settings, 'decoder-only', 40)
  const closedBook = em('closed-book', 0)
  const auroc = find(settings, 'cepe', 20).aurocUnanswerable
  const kept = (value: number): Target => ({
    what: '',
    target: `>= ${number(at10 - MOST_LOST)} (k = 10 less ${MOST_LOST})`,
    measured: number(value),
    met: value >= at10 - MOST_LOST,
  })
  const below = (value: number): Target => ({
    what: '',
    target: `< ${number(at20)} (cepe at k = 20)`,
    measured: number(value),
    met: value < at20,
  })
  return [
    { what: `recall@${RECALL_DEPTH} of the retriever`, target: '>= 0.95', measured: number(recall), met: recall >= 0.95 },
    { what: 'exact match, cepe, k = 10', target: '>= 0.75', measured: number(at10), met: at10 >= 0.75 },
    { ...kept(at20), what: 'exact match, cepe, k = 20' },
    { ...kept(at40), what: 'exact match, cepe, k = 40' },
    {
      ...below(decoderOnly.exactMatch.mean),
      what: `exact match, decoder-only with as many passages as fit (${decoderOnly.passagesInDecoder.toFixed(1)} on average)`,
    },
    { ...below(closedBook), what: 'exact match, closed-book' },
    {
      what: 'AUROC of the confidence, answered right against unanswerable, cepe, k = 20',
      target: '>= 0.8',
      measured: number(auroc),
      met: auroc >= 0.8,
    },
  ]
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
