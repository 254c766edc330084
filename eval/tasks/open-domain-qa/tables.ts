import { at, present } from '../../../base/at.ts'
import { bestOver, exactMatch } from '../../metrics/answer.ts'
import { type Block, type Column, itemTable, number, table, text } from '../../report/blocks.ts'
import { readPublishedTables } from '../../report/published-tables.ts'
import type { Estimate } from '../../statistics/bootstrap.ts'
import { DATASETS, settingName } from './protocol.ts'
import type { EvalRecord } from './record.ts'
import { answersOf, type Latency, type SettingSummary, type Summary, wasAsked } from './summary.ts'

/** `1.2 (1.0, 1.4)` in percent. */
export function withInterval({ mean, low, high, n }: Estimate, digits = 1): string {
  return n === 0 ? '-' : `${number(100 * mean, digits)} (${number(100 * low, 1)}, ${number(100 * high, 1)})`
}

/** Digits as in the paper: neighbours in its table differ by hundredths. */
const TABLE_DIGITS = 2

interface TableRun {
  readonly dataset: string
  readonly summary: Summary
  readonly published: Published['scores']
}

/** The paper's Table 7: one row per method, per dataset one column per k, exact match in percent; published scores as rows of their own. */
export function resultsTable(runs: readonly TableRun[]): Block {
  const measured = runs.map(({ summary: { settings } }) =>
    settings.map(({ method, k, exactMatch }) => ({ row: method, k, cell: withInterval(exactMatch, TABLE_DIGITS) })),
  )
  const published = runs.map((run) =>
    run.published.map(({ method, k, exact_match }) => ({ row: `${method} (published)`, k, cell: exact_match.toFixed(TABLE_DIGITS) })),
  )
  const columns = measured.flatMap((scores, run) =>
    [...new Set(scores.map(({ k }) => k).filter((k) => k > 0))].sort((a, b) => a - b).map((k, i) => ({ run, k, i })),
  )
  const rowsOf = (scores: typeof measured): string[][] =>
    [...new Set(scores.flat().map(({ row }) => row))].map((name) => [
      name,
      // A method without k (closed-book) has one score, in the first column of its dataset.
      ...columns.map(
        ({ run, k, i }) => scores[run]?.find(({ row, k: of }) => row === name && (of === k || (of === 0 && i === 0)))?.cell ?? '',
      ),
    ])
  const header = columns.map(({ run, k }) => `${at(runs, run).dataset} k = ${k}`)
  return table(['exact match (%)', ...header], [...rowsOf(measured), ...rowsOf(published)])
}

export function metricsTable({ settings }: Summary): Block {
  const isPopqa = settings.some(({ popqa }) => popqa !== null)
  const isUnanswerable = settings.some(({ aurocUnanswerable }) => !Number.isNaN(aurocUnanswerable))
  const only = (isShown: boolean, ...column: Column<SettingSummary>) => (isShown ? [column] : [])
  return itemTable(settings, [
    ['setting', settingName],
    ['EM', ({ exactMatch }) => withInterval(exactMatch)],
    ['F1', ({ f1 }) => withInterval(f1)],
    ['substring EM', ({ substringMatch }) => withInterval(substringMatch)],
    ...only(isPopqa, 'PopQA accuracy', ({ popqa }) => (popqa ? withInterval(popqa) : '-')),
    ['AUROC right / wrong', ({ aurocCorrect }) => number(aurocCorrect, 3)],
    ...only(isUnanswerable, 'AUROC right / unanswerable', ({ aurocUnanswerable }) => number(aurocUnanswerable, 3)),
    ['area under risk-coverage', ({ riskCoverage }) => number(riskCoverage.area, 3)],
    ['passages in decoder', ({ passagesInDecoder }) => number(passagesInDecoder, 1)],
    ['in encoder', ({ passagesInEncoder }) => number(passagesInEncoder, 1)],
  ])
}

/** Recall, nDCG and MRR by depth, and those of the gold passage if the dataset names one. */
export function recallTable(retrieval: NonNullable<Summary['retrieval']>): Block {
  const { recall, ndcg, mrr, goldRecall, goldNdcg, goldMrr } = retrieval
  const row = (name: string, values: typeof recall) =>
    values.length > 0 ? [[name, ...values.map(({ estimate }) => withInterval(estimate))]] : []
  return table(
    ['retrieval (%)', ...recall.map(({ k }) => `@${k}`)],
    [
      ...row('recall: a passage holds an answer', recall),
      ...row('nDCG of those passages', ndcg),
      ...row('MRR of the first of them', mrr),
      ...row("recall: the question's own passage", goldRecall),
      ...row('nDCG of it', goldNdcg),
      ...row('MRR of it', goldMrr),
    ],
  )
}

/** Milliseconds per stage of the settings that were asked: a repeated prompt takes no time. */
export function latencyTable({ settings, retrieval }: Summary): Block {
  const named = (stages: Readonly<Record<string, Latency>>, name: string, tokens: readonly string[]) =>
    Object.entries(stages).map(([stage, { mean, p50, p95 }], i) => {
      const cells = [mean, p50, p95].map((ms) => number(ms, 1))
      return i === 0 ? [name, stage, ...cells, ...tokens] : ['', stage, ...cells, '', '']
    })
  const shared = named(retrieval?.latencyMs ?? {}, 'retrieval', ['', ''])
  const ofSettings = settings.filter(wasAsked).flatMap((setting) => {
    const tokens = [number(setting.promptTokens, 0), number(setting.contextTokens, 0)]
    return named(setting.latencyMs, settingName(setting), tokens)
  })
  const header = ['milliseconds', 'stage', 'mean', 'median', '95th percentile', 'prompt tokens', 'context tokens']
  return table(header, [...shared, ...ofSettings], 2)
}

/** The most confident wrong answers of one setting. */
export function worstExamples(records: readonly EvalRecord[], { method, k }: SettingSummary, count: number): Block {
  const wrong = answersOf(records, method, k)
    .filter(({ record, prediction }) => record.answerable && bestOver(exactMatch, prediction.answer, record.answers) === 0)
    .sort((a, b) => b.prediction.confidence - a.prediction.confidence)
  if (wrong.length === 0) return text('No answer was wrong.')
  return table(
    ['question', 'answer given', 'right answers', 'confidence', 'first passage with an answer'],
    wrong.slice(0, count).map(({ record: { question, answers, retrieval }, prediction: { answer, confidence } }) => {
      const found = retrieval?.answer_ranks.find((rank) => rank <= k)
      const rank = found === undefined ? `none among ${k}` : String(found)
      return [question, answer === '' ? '(nothing)' : answer, answers.slice(0, 3).join('; '), number(confidence, 2), rank]
    }),
    3,
  )
}

export type Published = ReturnType<typeof publishedScores>

/** The scores of the paper's Table 7, by folder name of the checkpoint and by method as in the report's first column. */
export function publishedScores() {
  const { source, tables, question_models: models = {} } = readPublishedTables()
  const scores = (tables['7']?.rows ?? []).flatMap((row) => {
    const { method, checkpoints } = present(models[String(row['model'])])
    return checkpoints.flatMap((model) =>
      DATASETS.map((dataset) => ({ dataset, model, method, k: Number(row['k']), exact_match: Number(row[dataset]) })),
    )
  })
  return { source: `${source}, Table 7`, scores }
}
