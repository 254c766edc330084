import type { TopLevelSpec } from 'vega-lite'
import { linesOver } from '../../report/lines.ts'
import type { TaskSummary } from '../../task/summary.ts'

/** Plots a metric of every setting over the numeric values of a group, one line per setting. */
export function overGroup(
  { settings }: TaskSummary,
  { group, metric }: { readonly group: string; readonly metric: string },
  { xTitle, yTitle }: { readonly xTitle: string; readonly yTitle: string },
): TopLevelSpec {
  const points = settings.flatMap(({ setting, groups }) =>
    groups
      .filter((score) => score.group === group && (score.scores[metric]?.n ?? 0) > 0)
      .map(({ value, scores }) => ({ series: setting, x: Number(value), y: scores[metric]?.mean ?? Number.NaN })),
  )
  return linesOver(points, { x: xTitle, y: yTitle, series: 'setting' }, { domain: [0, 100] })
}
