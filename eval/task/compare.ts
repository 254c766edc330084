import { CodedError } from '../../base/errors.ts'
import { type Block, text } from '../report/blocks.ts'
import { compareItems, comparisonTable } from '../report/comparison.ts'
import { sharedItems } from '../statistics/paired.ts'
import type { TaskRun } from './contract.ts'
import { clusterOf, type TaskRecord } from './record.ts'

/**
 * Paired differences of two runs of one task, item by item, in every common setting and metric; differences are second minus first.
 * @throws run_mismatch if they share no scored item or no setting
 */
export function compareRuns(a: TaskRun, b: TaskRun) {
  if (a.task !== b.task) throw new CodedError('run_mismatch', `The runs are of different tasks: ${a.task.name} and ${b.task.name}.`)
  const { what, digits } = a.task.compared ?? { what: 'items', digits: 3 }
  const isScored = ({ skipped, results }: TaskRecord): boolean => !skipped && results.length > 0
  const pairs = sharedItems(a.records, b.records, isScored)
  if (pairs.length === 0) throw new CodedError('run_mismatch', `The two runs share no scored ${what}: they are of different data.`)
  const compared = a.manifest.subject.settings.flatMap((setting) =>
    a.task.metrics.map(({ name, label, aggregate }) => ({
      ...{ setting, digits, metric: aggregate === 'perplexity' ? `${label} (as loss)` : label },
      scale: aggregate === 'percent' ? 100 : 1,
      scoreOf: ({ results }: TaskRecord) => results.find((result) => result.setting === setting)?.scores[name],
    })),
  )
  const comparisons = compareItems(pairs, compared, { clusterOf, seed: a.seed })
  if (comparisons.length === 0) throw new CodedError('run_mismatch', 'The two runs share no setting.')
  const only = ({ records }: TaskRun): number => records.filter(isScored).length - pairs.length
  return { what, shared: pairs.length, onlyA: only(a), onlyB: only(b), comparisons }
}

export function comparisonBlocks({ what, shared, onlyA, onlyB, comparisons }: ReturnType<typeof compareRuns>): Block[] {
  return [
    text(
      `${shared} ${what} are scored in both runs (${onlyA} only in the first, ${onlyB} only in the second). Differences are second minus first, with 95 % intervals of the paired bootstrap; rows about the same question or document are resampled as one.`,
    ),
    comparisonTable(comparisons),
  ]
}
