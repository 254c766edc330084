import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { bestOver, exactMatch, f1 } from '../../metrics/answer.ts'
import { table, text, type Block } from '../../report/blocks.ts'
import type { EvalRecord, StoredRun } from './record.ts'
import { settingName, settingsOf } from './protocol.ts'
import { mcnemar, pairedBootstrap, type PairedDifference, pText, sharedItems } from '../../statistics/paired.ts'
import { mean } from '../../statistics/bootstrap.ts'

export interface Comparison {
  readonly setting: string
  readonly exactMatch: PairedDifference & { readonly a: number; readonly b: number; readonly mcnemarP: number }
  readonly f1: PairedDifference & { readonly a: number; readonly b: number }
}

/**
 * Compares two runs question by question in every common setting.
 * @throws run_mismatch if they share no scored question or no setting
 */
export function compareRuns(a: StoredRun, b: StoredRun): { shared: number; onlyA: number; onlyB: number; comparisons: Comparison[] } {
  const isScored = ({ answerable, skipped }: EvalRecord): boolean => answerable && !skipped
  const pairs = sharedItems(a.records, b.records, isScored, (one, other) => one.question === other.question)
  const only = (run: StoredRun): number => run.records.filter(isScored).length - pairs.length
  if (pairs.length === 0) throw new CodedError('run_mismatch', 'The two runs share no scored question: they are of different datasets.')
  const inB = new Set(settingsOf(b.manifest.subject.protocol).map(settingName))
  const settings = settingsOf(a.manifest.subject.protocol).filter((setting) => inB.has(settingName(setting)))
  if (settings.length === 0) throw new CodedError('run_mismatch', 'The two runs share no setting (mode and k).')
  const { seed } = a.manifest.subject.protocol

  const comparisons = settings.map((setting) => {
    const scores = (side: 0 | 1, metric: typeof exactMatch) =>
      pairs.map((pair) =>
        bestOver(
          metric,
          pair[side].predictions.find(({ method, k }) => method === setting.method && k === setting.k)?.answer ?? '',
          pair[side].answers,
        ),
      )
    const [matchA, matchB, f1A, f1B] = [scores(0, exactMatch), scores(1, exactMatch), scores(0, f1), scores(1, f1)]
    const paired = (first: readonly number[], second: readonly number[]) =>
      pairedBootstrap(
        pairs.map(([{ id }], i) => ({ cluster: id, a: at(first, i), b: at(second, i) })),
        seed,
      )
    const onlyRight = (right: readonly number[], wrong: readonly number[]) =>
      right.filter((score, i) => score === 1 && wrong[i] === 0).length
    return {
      setting: settingName(setting),
      exactMatch: {
        ...paired(matchA, matchB),
        a: mean(matchA),
        b: mean(matchB),
        mcnemarP: mcnemar(onlyRight(matchA, matchB), onlyRight(matchB, matchA)),
      },
      f1: { ...paired(f1A, f1B), a: mean(f1A), b: mean(f1B) },
    }
  })
  return { shared: pairs.length, onlyA: only(a), onlyB: only(b), comparisons }
}

/** The comparison as a table. */
export function comparisonBlocks({ shared, onlyA, onlyB, comparisons }: ReturnType<typeof compareRuns>): Block[] {
  const points = (value: number) => (100 * value).toFixed(1)
  const difference = ({ difference: value, low, high }: PairedDifference) =>
    `${value > 0 ? '+' : ''}${points(value)} (${points(low)}, ${points(high)})`
  return [
    text(
      `${shared} questions are scored in both runs (${onlyA} only in the first, ${onlyB} only in the second). Differences are second minus first, in points, with 95 % intervals of the paired bootstrap.`,
    ),
    table(
      [
        'setting',
        'EM first',
        'EM second',
        'difference',
        'p (bootstrap)',
        'p (McNemar)',
        'F1 first',
        'F1 second',
        'difference',
        'p (bootstrap)',
      ],
      comparisons.map(({ setting, exactMatch: em, f1: overlap }) => [
        setting,
        points(em.a),
        points(em.b),
        difference(em),
        pText(em.p),
        pText(em.mcnemarP),
        points(overlap.a),
        points(overlap.b),
        difference(overlap),
        pText(overlap.p),
      ]),
    ),
  ]
}
