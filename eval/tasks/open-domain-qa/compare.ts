import { CodedError } from '../../../base/errors.ts'
import { bestOver, exactMatch, f1 } from '../../metrics/answer.ts'
import { type Block, text } from '../../report/blocks.ts'
import { compareItems, comparisonTable } from '../../report/comparison.ts'
import { sharedItems } from '../../statistics/paired.ts'
import { settingName, settingsOf } from './protocol.ts'
import type { EvalRecord, StoredRun } from './record.ts'
import { answersOf } from './summary.ts'

const METRICS = { EM: exactMatch, F1: f1 } as const

/**
 * Compares two runs question by question in every common setting.
 * @throws run_mismatch if they share no scored question or no setting
 */
export function compareRuns(a: StoredRun, b: StoredRun) {
  const isScored = ({ answerable, skipped }: EvalRecord): boolean => answerable && !skipped
  const pairs = sharedItems(a.records, b.records, isScored, (one, other) => one.question === other.question)
  const only = (run: StoredRun): number => run.records.filter(isScored).length - pairs.length
  if (pairs.length === 0) throw new CodedError('run_mismatch', 'The two runs share no scored question: they are of different datasets.')
  const inB = new Set(settingsOf(b.manifest.subject.protocol).map(settingName))
  const settings = settingsOf(a.manifest.subject.protocol).filter((setting) => inB.has(settingName(setting)))
  if (settings.length === 0) throw new CodedError('run_mismatch', 'The two runs share no setting (mode and k).')
  const compared = settings.flatMap((setting) =>
    Object.entries(METRICS).map(([metric, score]) => ({
      ...{ setting: settingName(setting), metric, scale: 100, digits: 1 },
      scoreOf: (record: EvalRecord) =>
        bestOver(score, answersOf([record], setting.method, setting.k)[0]?.prediction.answer ?? '', record.answers),
    })),
  )
  const { seed } = a.manifest.subject.protocol
  const comparisons = compareItems(pairs, compared, { clusterOf: ({ id }) => id, seed })
  return { shared: pairs.length, onlyA: only(a), onlyB: only(b), comparisons }
}

/** The comparison as a table. */
export function comparisonBlocks({ shared, onlyA, onlyB, comparisons }: ReturnType<typeof compareRuns>): Block[] {
  return [
    text(
      `${shared} questions are scored in both runs (${onlyA} only in the first, ${onlyB} only in the second). Differences are second minus first, in points, with 95 % intervals of the paired bootstrap.`,
    ),
    comparisonTable(comparisons),
  ]
}
