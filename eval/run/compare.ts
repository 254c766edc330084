import { isDeepStrictEqual } from 'node:util'
import { mean } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { type Block, number, table, text } from '../report/blocks.ts'
import { mcnemar, pairedBootstrap } from '../statistics/bootstrap.ts'
import type { TaskRun } from './contract.ts'
import { OPEN_DOMAIN_QA } from './folder.ts'
import { clusterOf, type TaskRecord } from './record.ts'
import { shown } from './summary.ts'

/**
 * Paired differences of two runs of one task, item by item, in every common setting and metric; differences are second minus first.
 * @throws run_mismatch if they share no scored item or no setting
 */
export function compareRuns(a: TaskRun, b: TaskRun) {
  if (a.task !== b.task) throw new CodedError('run_mismatch', `The runs are of different tasks: ${a.task.name} and ${b.task.name}.`)
  const { what, digits } = a.task.compared ?? { what: 'items', digits: 3 }
  const scoredIn = ({ records }: TaskRun) => records.filter(({ skipped, results }) => !skipped && results.length > 0)
  const [ofA, ofB] = [scoredIn(a), scoredIn(b)]
  const filesOf = ({ manifest }: TaskRun) => manifest.subject.files.map(({ sha256 }) => sha256).join()
  // Ids of other items than questions are numbers of lines.
  if (a.task.name !== OPEN_DOMAIN_QA && filesOf(a) !== filesOf(b))
    throw new CodedError('run_mismatch', 'The two runs are of different data files: compare runs of the same ones.')
  const byId = new Map(ofB.map((record) => [record.id, record]))
  const named = ofA.flatMap((record) => {
    const other = byId.get(record.id)
    return other ? [[record, other] as const] : []
  })
  const expectedOf = ({ results }: TaskRecord) => results.map(({ expected }) => expected)[0]
  const pairs = named.filter(([first, second]) => isDeepStrictEqual(expectedOf(first), expectedOf(second)))
  if (pairs.length === 0) throw new CodedError('run_mismatch', `The two runs share no scored ${what}: they are of different data.`)
  const comparisons = a.manifest.subject.settings.flatMap((setting) =>
    a.task.metrics.flatMap(({ name, label, aggregate }) => {
      const scoreOf = ({ results }: TaskRecord) => results.find((result) => result.setting === setting)?.scores[name]
      const scores = pairs.flatMap(([first, second]) => {
        const [one, other] = [scoreOf(first), scoreOf(second)]
        return one === undefined || other === undefined ? [] : [{ cluster: clusterOf(first), a: one, b: other }]
      })
      if (scores.length === 0) return []
      const isBinary = scores.every((pair) => [pair.a, pair.b].every((score) => score === 0 || score === 1))
      // McNemar's test knows no clusters.
      const isIndependent = new Set(scores.map(({ cluster }) => cluster)).size === scores.length
      const wins = (difference: number) => scores.filter((pair) => pair.a - pair.b === difference).length
      return {
        setting,
        metric: aggregate === 'perplexity' ? `${label} (as loss)` : label,
        digits,
        scale: aggregate === 'percent' ? 100 : 1,
        ...pairedBootstrap(scores, a.seed),
        a: mean(scores.map((pair) => pair.a)),
        b: mean(scores.map((pair) => pair.b)),
        mcnemarP: isBinary && isIndependent ? mcnemar(wins(1), wins(-1)) : Number.NaN,
      }
    }),
  )
  if (comparisons.length === 0) throw new CodedError('run_mismatch', 'The two runs share no setting.')
  const [onlyA, onlyB] = [ofA.length - named.length, ofB.length - named.length]
  const readers = [a, b].map(({ manifest }) => manifest.subject.reader)
  return { readers, what, shared: pairs.length, changed: named.length - pairs.length, onlyA, onlyB, comparisons }
}

export function comparisonBlocks({ readers, what, shared, changed, onlyA, onlyB, comparisons }: ReturnType<typeof compareRuns>): Block[] {
  return [
    text(`Readers: first ${readers.join(', second ')}.`),
    text(
      `${shared} ${what} are scored in both runs (${onlyA} only in the first, ${onlyB} only in the second${changed > 0 ? `; ${changed} with other right answers are left out` : ''}). Differences are second minus first, with 95 % intervals of the paired bootstrap; rows about the same question or document are resampled as one.`,
    ),
    table(
      ['setting', 'metric', 'items', 'first', 'second', 'difference', 'p (bootstrap)', 'p (McNemar)'],
      comparisons.map(({ setting, metric, scale, digits, n, a, b, difference, low, high, p, mcnemarP }) => {
        const sign = difference > 0 ? '+' : ''
        const change = `${sign}${shown({ digits }, { mean: scale * difference, low: scale * low, high: scale * high, n })}`
        return [setting, metric, String(n), number(scale * a, digits), number(scale * b, digits), change, pText(p), pText(mcnemarP)]
      }),
      2,
    ),
  ]
}

function pText(value: number): string {
  return value < 0.001 ? '< 0.001' : number(value, 3)
}
