import type { TopLevelSpec } from 'vega-lite'
import { settingName } from './protocol.ts'
import { STAGES, wasAsked, type SettingSummary, type Summary } from './summary.ts'

const SIZE = { width: 560, height: 320 }
/** Maximum points of a curve. */
const CURVE_POINTS = 200

const methodColor = { field: 'method', type: 'nominal', title: 'method' } as const

/** Exact match over k, one line per mode with 95 % intervals (the paper's Figure 3); closed-book, which has no k, as a dashed line. */
export function exactMatchOverK(settings: readonly SettingSummary[]): TopLevelSpec {
  const points = settings
    .filter(({ k }) => k > 0)
    .map(({ method, k, exactMatch }) => ({ method, k, em: 100 * exactMatch.mean, low: 100 * exactMatch.low, high: 100 * exactMatch.high }))
  // From zero to the next ten above the highest interval: a flat line at zero would have no axis.
  const top = Math.min(
    100,
    10 * Math.ceil(Math.max(1, ...settings.map(({ exactMatch }) => (exactMatch.n > 0 ? 100 * exactMatch.high : 0))) / 10),
  )
  const flat = settings.filter(({ k }) => k === 0).map(({ method, exactMatch }) => ({ method, em: 100 * exactMatch.mean }))
  const x = {
    field: 'k',
    type: 'quantitative' as const,
    title: 'retrieved passages k',
    axis: { values: [...new Set(points.map(({ k }) => k))], format: 'd' },
    scale: { zero: false, nice: false, padding: 14 },
  }
  return {
    ...SIZE,
    layer: [
      {
        data: { values: points },
        mark: { type: 'line', point: true },
        encoding: {
          x,
          y: { field: 'em', type: 'quantitative', title: 'exact match (%)', scale: { domain: [0, top] } },
          color: methodColor,
        },
      },
      {
        data: { values: points },
        mark: { type: 'rule', opacity: 0.5 },
        encoding: { x, y: { field: 'low', type: 'quantitative' }, y2: { field: 'high' }, color: methodColor },
      },
      {
        data: { values: flat },
        mark: { type: 'rule', strokeDash: [6, 4], size: 2 },
        encoding: { y: { field: 'em', type: 'quantitative' }, color: methodColor },
      },
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
  const values = atLargestK(settings).flatMap((setting) =>
    thin(setting.riskCoverage.points).map(({ coverage, risk }) => ({
      method: settingName(setting),
      coverage: 100 * coverage,
      risk: 100 * risk,
    })),
  )
  return {
    ...SIZE,
    data: { values },
    mark: { type: 'line' },
    encoding: {
      x: { field: 'coverage', type: 'quantitative', title: 'questions answered (%)', scale: { domain: [0, 100] } },
      y: { field: 'risk', type: 'quantitative', title: 'wrong among them (%)', scale: { domain: [0, 100] } },
      color: methodColor,
    },
  }
}

/** Mean milliseconds per stage and setting; embedding and search are once per question. */
export function latencyBars({ settings, retrieval }: Summary): TopLevelSpec {
  const values = settings.filter(wasAsked).flatMap((setting) => {
    const shared =
      retrieval?.latencyMs && setting.k > 0
        ? [
            { stage: 'embed', ms: retrieval.latencyMs.embed.mean },
            { stage: 'retrieve', ms: retrieval.latencyMs.retrieve.mean },
          ]
        : []
    return [...shared, ...STAGES.map((stage) => ({ stage, ms: setting.latencyMs[stage].mean }))].map((entry, position) => ({
      ...entry,
      position,
      setting: settingName(setting),
    }))
  })
  return {
    width: SIZE.width,
    height: { step: 22 },
    data: { values },
    mark: 'bar',
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
