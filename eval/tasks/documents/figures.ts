import type { TopLevelSpec } from 'vega-lite'
import type { TaskSummary } from '../../task/summary.ts'

/** A metric of every setting over the numeric values of a group, one line per setting. */
export function overGroup(
  { settings }: TaskSummary,
  { group, metric }: { readonly group: string; readonly metric: string },
  { xTitle, yTitle }: { readonly xTitle: string; readonly yTitle: string },
): TopLevelSpec {
  const values = settings.flatMap(({ setting, groups }) =>
    groups
      .filter((score) => score.group === group && (score.scores[metric]?.n ?? 0) > 0)
      .map(({ value, scores }) => ({ setting, x: Number(value), y: scores[metric]?.mean ?? Number.NaN })),
  )
  return {
    width: 560,
    height: 320,
    data: { values },
    mark: { type: 'line', point: true },
    encoding: {
      x: { field: 'x', type: 'quantitative', title: xTitle },
      y: { field: 'y', type: 'quantitative', title: yTitle, scale: { domain: [0, 100] } },
      color: { field: 'setting', type: 'nominal', title: 'setting' },
    },
  }
}
