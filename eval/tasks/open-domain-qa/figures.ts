import type { TopLevelSpec } from 'vega-lite'
import { settingName } from './protocol.ts'
import { STAGES, wasAsked, type SettingSummary, type Summary } from './summary.ts'

const SIZE = { width: 560, height: 320 }
const CURVE_POINTS = 200

const methodColor = { field: 'method', type: 'nominal', title: 'method' } as const

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
  const x = {
    ...{ field: 'k', type: 'quantitative' as const, title: 'retrieved passages k' },
    axis: { values: [...new Set(points.map(({ k }) => k))], format: 'd' },
    scale: { zero: false, nice: false, padding: 14 },
  }
  const y = { field: 'em', type: 'quantitative' } as const
  return {
    ...SIZE,
    layer: [
      {
        data: { values: points },
        mark: { type: 'line', point: true },
        encoding: { x, y: { ...y, title: 'exact match (%)', scale: { domain: [0, top] } }, color: methodColor },
      },
      {
        data: { values: points },
        mark: { type: 'rule', opacity: 0.5 },
        encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color: methodColor },
      },
      { data: { values: flat }, mark: { type: 'rule', strokeDash: [6, 4], size: 2 }, encoding: { y, color: methodColor } },
    ],
  }
}

/** Share of questions with an answer in the first k passages. */
export function recallCurve(curve: readonly { readonly k: number; readonly recall: number }[]): TopLevelSpec {
  return {
    ...SIZE,
    data: { values: curve.map(({ k, recall }) => ({ k, recall: 100 * recall })) },
    mark: { type: 'line' },
    encoding: {
      x: { field: 'k', type: 'quantitative', title: 'retrieved passages k', axis: { format: 'd', tickMinStep: 1 } },
      y: { field: 'recall', type: 'quantitative', title: 'recall@k (%)', scale: { domain: [0, 100] } },
    },
  }
}

/** Share of wrong answers when only the most confident ones are given, per method at its largest k. */
export function riskCoverageCurves(settings: readonly SettingSummary[]): TopLevelSpec {
  const values = atLargestK(settings).flatMap((setting) => {
    const method = settingName(setting)
    return thin(setting.riskCoverage.points).map(({ coverage, risk }) => ({ method, coverage: 100 * coverage, risk: 100 * risk }))
  })
  const scale = { domain: [0, 100] }
  return {
    ...SIZE,
    data: { values },
    mark: { type: 'line' },
    encoding: {
      x: { field: 'coverage', type: 'quantitative', title: 'questions answered (%)', scale },
      y: { field: 'risk', type: 'quantitative', title: 'wrong among them (%)', scale },
      color: methodColor,
    },
  }
}

/** Mean milliseconds per stage and setting; embedding and search are once per question. */
export function latencyBars({ settings, retrieval }: Summary): TopLevelSpec {
  const shared = Object.entries(retrieval?.latencyMs ?? {}).map(([stage, { mean: ms }]) => ({ stage, ms }))
  const values = settings.filter(wasAsked).flatMap((setting) => {
    const own = STAGES.map((stage) => ({ stage, ms: setting.latencyMs[stage].mean }))
    const all = [...(setting.k > 0 ? shared : []), ...own]
    return all.map((entry, position) => ({ ...entry, position, setting: settingName(setting) }))
  })
  return {
    ...{ width: SIZE.width, height: { step: 22 }, data: { values }, mark: 'bar' },
    encoding: {
      y: { field: 'setting', type: 'nominal', title: null, sort: null },
      x: { field: 'ms', type: 'quantitative', title: 'mean milliseconds per question' },
      color: { field: 'stage', type: 'nominal', title: 'stage', sort: ['embed', 'retrieve', ...STAGES] },
      order: { field: 'position', type: 'quantitative' },
    },
  }
}

/** Each method at its largest k. */
export function atLargestK(settings: readonly SettingSummary[]): SettingSummary[] {
  return [...new Map(settings.map((setting) => [setting.method, setting])).values()]
}

function thin<T>(points: readonly T[]): readonly T[] {
  const stride = Math.max(1, Math.ceil(points.length / CURVE_POINTS))
  return points.filter((_, i) => i % stride === 0 || i === points.length - 1)
}
