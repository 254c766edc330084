import type { TopLevelSpec } from 'vega-lite'
import { linesOver } from '../../report/lines.ts'
import type { SettingSummary, TaskSummary } from '../../run/summary.ts'
import type { Metric } from '../../run/contract.ts'

/** Tokens in a setting's name, as in `cepe, 4096 tokens (8 x 256 + 2048)`. */
export function lengthOf({ setting }: Pick<SettingSummary, 'setting'>): number {
  return Number(/, (\d+) tokens/.exec(setting)?.[1] ?? Number.NaN)
}

export const PERPLEXITY: Metric = { name: 'loss', label: 'perplexity', aggregate: 'perplexity', digits: 3 }

/** Plots a value of every setting over the length of its text, one line per method. */
export function overLength(
  { settings }: TaskSummary,
  label: string,
  value: (setting: SettingSummary) => number,
  xTitle = 'tokens of text',
): TopLevelSpec {
  const points = settings
    .filter((setting) => setting.n > 0)
    .map((setting) => ({ series: setting.setting.replace(/,.*/s, ''), x: lengthOf(setting), y: value(setting) }))
  return linesOver(points, { x: xTitle, y: label, series: 'method' }, { zero: false })
}

/** A setting's value of the metric. */
export function valueOf({ name }: Metric): (setting: SettingSummary) => number {
  return ({ scores }) => scores[name]?.mean ?? Number.NaN
}
