import { CodedError } from '../../base/errors.ts'
import { table, text, type Block } from '../report/blocks.ts'
import { pairedBootstrap } from '../statistics/paired.ts'
import { pText, sharedItems } from '../statistics/shared.ts'
import type { TaskRun } from './read.ts'
import { clusterOf, type TaskRecord } from './record.ts'

/**
 * Paired differences of two runs of the same task, item by item, in every common setting and metric.
 * @throws run_mismatch if they share none
 */
export function compareTaskRuns(a: TaskRun, b: TaskRun): Block[] {
  if (a.task !== b.task) throw new CodedError('run_mismatch', `The runs are of different tasks: ${a.task.name} and ${b.task.name}.`)
  const pairs = sharedItems(a.records, b.records, ({ skipped }) => !skipped)
  const scoreOf = (record: TaskRecord, setting: string, metric: string) =>
    record.results.find((result) => result.setting === setting)?.scores[metric]
  const rows = a.manifest.subject.settings.flatMap((setting) =>
    a.task.metrics.flatMap((metric) => {
      const scores = pairs.flatMap(([first, second]) => {
        const [x, y] = [scoreOf(first, setting, metric.name), scoreOf(second, setting, metric.name)]
        return x === undefined || y === undefined ? [] : [{ cluster: clusterOf(first), a: x, b: y }]
      })
      if (scores.length === 0) return []
      const { difference, low, high, p } = pairedBootstrap(scores, 0)
      const scale = metric.aggregate === 'percent' ? 100 : 1
      const number = (value: number) => (scale * value).toFixed(3)
      const label = metric.aggregate === 'perplexity' ? `${metric.label} (as loss)` : metric.label
      return [[setting, label, String(scores.length), `${number(difference)} (${number(low)}, ${number(high)})`, pText(p)]]
    }),
  )
  if (rows.length === 0) throw new CodedError('run_mismatch', 'The two runs share no scored item in a common setting.')
  return [
    text(
      'Differences are second minus first over the items that both scored, with 95 % intervals of the paired bootstrap; rows about the same question or document are resampled as one.',
    ),
    table(['setting', 'metric', 'items', 'difference', 'p (bootstrap)'], rows, 2),
  ]
}
