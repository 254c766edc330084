import { Type } from 'typebox'
import type { TopLevelSpec } from 'vega-lite'
import { readShipped } from '../../datasets/shipped.ts'
import { settingName } from './protocol.ts'
import { STAGES, wasAsked, type SettingSummary, type Summary } from './summary.ts'

const CURVE_POINTS = 200

/** A Vega-Lite chart of charts.json with its data. */
function chart(name: string, data: object): TopLevelSpec {
  const charts = readShipped('eval/report/charts.json', Type.Record(Type.String(), Type.Object({})))
  return { width: 560, height: 320, ...data, ...charts[name] } as TopLevelSpec
}

/** Exact match over k, one line per mode with 95 % intervals (the paper's Figure 3); closed-book, which has no k, as a dashed line. */
export function exactMatchOverK(settings: readonly SettingSummary[]): TopLevelSpec {
  const all = settings.map(({ method, k, exactMatch: { mean, low, high } }) => ({
    method,
    k,
    em: 100 * mean,
    low: 100 * low,
    high: 100 * high,
  }))
  const points = all.filter(({ k }) => k > 0)
  const flat = all.flatMap(({ method, k, em }) => (k === 0 ? { method, em } : []))
  // From zero to the next ten above the highest interval: a flat line at zero would have no axis.
  const highest = settings.map(({ exactMatch }) => (exactMatch.n > 0 ? 100 * exactMatch.high : 0))
  const top = Math.min(100, 10 * Math.ceil(Math.max(1, ...highest) / 10))
  const params = Object.entries({ ks: [...new Set(points.map(({ k }) => k))], top }).map(([name, value]) => ({ name, value }))
  return chart('exact-match', { datasets: { points, flat }, params })
}

/** Share of questions with an answer in the first k passages. */
export function recallCurve(curve: readonly { readonly k: number; readonly recall: number }[]): TopLevelSpec {
  return chart('recall', { data: { values: curve.map(({ k, recall }) => ({ k, recall: 100 * recall })) } })
}

/** Share of wrong answers when only the most confident ones are given, per method at its largest k. */
export function riskCoverageCurves(settings: readonly SettingSummary[]): TopLevelSpec {
  const values = atLargestK(settings).flatMap((setting) => {
    const method = settingName(setting)
    return thin(setting.riskCoverage.points).map(({ coverage, risk }) => ({ method, coverage: 100 * coverage, risk: 100 * risk }))
  })
  return chart('risk-coverage', { data: { values } })
}

/** Mean milliseconds per stage and setting; embedding and search are once per question. */
export function latencyBars({ settings, retrieval }: Summary): TopLevelSpec {
  const shared = Object.entries(retrieval?.latencyMs ?? {}).map(([stage, { mean: ms }]) => ({ stage, ms }))
  const values = settings.filter(wasAsked).flatMap((setting) => {
    const all = [...(setting.k > 0 ? shared : []), ...STAGES.map((stage) => ({ stage, ms: setting.latencyMs[stage].mean }))]
    return all.map((entry, position) => ({ ...entry, position, setting: settingName(setting) }))
  })
  return chart('latency', { data: { values } })
}

/** Each method at its largest k. */
export function atLargestK(settings: readonly SettingSummary[]): SettingSummary[] {
  return [...new Map(settings.map((setting) => [setting.method, setting])).values()]
}

function thin<T>(points: readonly T[]): readonly T[] {
  const stride = Math.max(1, Math.ceil(points.length / CURVE_POINTS))
  return points.filter((_, i) => i % stride === 0 || i === points.length - 1)
}
