import type { TopLevelSpec } from 'vega-lite'
import type { SettingSummary, TaskSummary } from '../../task/summary.ts'
import type { Metric } from '../../task/contract.ts'

const SIZE = { width: 560, height: 320 }

/** Tokens that a setting's name tells, as in `cepe, 4096 tokens (8 x 256 + 2048)`. */
export function lengthOf({ setting }: Pick<SettingSummary, 'setting'>): number {
  return Number(/, (\d+) tokens/.exec(setting)?.[1] ?? Number.NaN)
}

function methodOf({ setting }: Pick<SettingSummary, 'setting'>): string {
  return setting.split(',')[0] ?? setting
}

/** Something of every setting over the length of its text, one line per method. */
export function overLength(
  { settings }: TaskSummary,
  label: string,
  value: (setting: SettingSummary) => number,
  xTitle = 'tokens of text',
): TopLevelSpec {
  const values = settings
    .filter((setting) => setting.n > 0)
    .map((setting) => ({ method: methodOf(setting), tokens: lengthOf(setting), value: value(setting) }))
  return {
    ...SIZE,
    data: { values },
    mark: { type: 'line', point: true },
    encoding: {
      x: { field: 'tokens', type: 'quantitative', title: xTitle, scale: { zero: false } },
      y: { field: 'value', type: 'quantitative', title: label, scale: { zero: false } },
      color: { field: 'method', type: 'nominal', title: 'method' },
    },
  }
}

/** The metric's value of a setting. */
export function valueOf({ name }: Metric): (setting: SettingSummary) => number {
  return ({ scores }) => scores[name]?.mean ?? Number.NaN
}
