import type { TopLevelSpec } from 'vega-lite'

export interface LinePoint {
  readonly series: string
  readonly x: number
  readonly y: number
}

/** Overlapping lines remain distinguishable: each has its own dashes and point shapes. */
const DASHES = ['1 0', '7 3', '2 2', '9 3 2 3', '4 4', '1 4', '12 3', '6 2 1 2 1 2', '3 6', '10 6'].map((dash) =>
  dash.split(' ').map(Number),
)
/** Pixels between the outermost points and the frame. */
const PADDING = 14

/** One line per series. `y` is the scale's domain, or how to choose it. */
export function linesOver(
  points: readonly LinePoint[],
  titles: Readonly<Record<'x' | 'y' | 'series', string>>,
  y:
    | { readonly domain: [number, number] }
    | { readonly type: 'log'; readonly nice: false; readonly padding: number }
    | { readonly zero: false },
): TopLevelSpec {
  const series = { field: 'series', type: 'nominal', title: titles.series } as const
  return {
    width: 560,
    height: 320,
    data: { values: points.filter((point) => Number.isFinite(point.y)) },
    encoding: {
      x: { field: 'x', type: 'quantitative', title: titles.x, scale: { zero: false, nice: false, padding: PADDING } },
      y: { field: 'y', type: 'quantitative', title: titles.y, scale: y },
      color: series,
    },
    layer: [
      { mark: 'line', encoding: { strokeDash: { ...series, scale: { range: DASHES }, legend: null } } },
      { mark: { type: 'point', size: 70 }, encoding: { shape: { ...series, legend: null } } },
    ],
  }
}
