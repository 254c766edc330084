import { at } from '../../../base/at.ts'
import { bestOver, exactMatch, f1, popqaMatch, substringMatch } from '../../metrics/answer.ts'
import { auroc, riskCoverage, type CoveragePoint } from '../../metrics/confidence.ts'
import { ndcgAt, recallAt, reciprocalRankAt } from '../../metrics/retrieval.ts'
import { estimateShare, mean, quantile, type Estimate, type Sample } from '../../statistics/bootstrap.ts'
import type { Problem } from '../../datasets/question-set.ts'
import type { EvalRecord, Prediction, QaManifest } from './record.ts'
import { largestK, settingsOf } from './protocol.ts'
import { skippedProblems } from '../../runner/manifest.ts'

/** Depths for recall, as in the literature. */
const RECALL_DEPTHS = [1, 5, 20, 50, 100] as const
export const STAGES = ['queue', 'encode', 'generate'] as const

export interface Latency {
  readonly mean: number
  readonly p50: number
  readonly p95: number
}

export interface GroupScore {
  readonly value: string
  readonly exactMatch: Estimate
}

export interface SettingSummary {
  readonly method: string
  readonly k: number
  readonly exactMatch: Estimate
  readonly f1: Estimate
  readonly substringMatch: Estimate
  /** PopQA's own accuracy; null for other datasets. */
  readonly popqa: Estimate | null
  /** Exact match by answer type, popularity ..., largest groups first. */
  readonly groups: Readonly<Record<string, readonly GroupScore[]>>
  /** Risk over coverage of the confidence, exact match counting as right. */
  readonly riskCoverage: { readonly points: readonly CoveragePoint[]; readonly area: number }
  /** Right against wrong answers. */
  readonly aurocCorrect: number
  /** Right answers against answers to unanswerable questions; NaN without those. */
  readonly aurocUnanswerable: number
  readonly latencyMs: Readonly<Record<(typeof STAGES)[number] | 'total', Latency>>
  readonly promptTokens: number
  readonly contextTokens: number
  readonly passagesInDecoder: number
  readonly passagesInEncoder: number
}

export interface RetrievalSummary {
  /** By depth: share of questions with a passage that contains an answer. */
  readonly recall: readonly AtDepth[]
  /** At every k up to the depth, for the curve. */
  readonly curve: readonly { readonly k: number; readonly recall: number }[]
  /** By depth, for the gold passage; empty if the dataset names none. */
  readonly goldRecall: readonly AtDepth[]
  /** By depth, over passages that contain an answer; the ideal ranking has all found ones first. */
  readonly ndcg: readonly AtDepth[]
  /** By depth, of the first passage that contains an answer. */
  readonly mrr: readonly AtDepth[]
  /** As above, for the gold passage; empty if the dataset names none. */
  readonly goldNdcg: readonly AtDepth[]
  readonly goldMrr: readonly AtDepth[]
  readonly latencyMs: { readonly embed: Latency; readonly retrieve: Latency } | null
}

interface AtDepth {
  readonly k: number
  readonly estimate: Estimate
}

export interface Summary {
  readonly asked: number
  /** Answerable questions with an answer in every setting: the basis of all scores. */
  readonly scored: number
  readonly unanswerable: number
  readonly problems: readonly Problem[]
  readonly settings: readonly SettingSummary[]
  readonly retrieval: RetrievalSummary | null
}

/** All scores of a run. */
export function summarise({ subject, data }: QaManifest, records: readonly EvalRecord[]): Summary {
  const answered = records.filter(({ skipped }) => !skipped)
  const scored = answered.filter(({ answerable }) => answerable)
  const unanswerable = answered.filter(({ answerable }) => !answerable)
  return {
    asked: data.answerable + data.unanswerable,
    scored: scored.length,
    unanswerable: unanswerable.length,
    problems: [...data.problems, ...skippedProblems(records, ({ code, setting }) => `${code} in ${setting ?? 'retrieval'}`)],
    settings: settingsOf(subject.protocol).map((setting) => summariseSetting(setting, { scored, unanswerable }, subject)),
    retrieval: summariseRetrieval(scored, subject.protocol.seed, largestK(subject.protocol)),
  }
}

interface Scored {
  readonly record: EvalRecord
  readonly prediction: Prediction
}

/** The answers in one setting. */
export function answersOf(records: readonly EvalRecord[], method: string, k: number): Scored[] {
  return records.flatMap((record) =>
    record.predictions
      .filter((prediction) => prediction.method === method && prediction.k === k)
      .map((prediction) => ({ record, prediction })),
  )
}

function summariseSetting(
  { method, k }: Pick<SettingSummary, 'method' | 'k'>,
  { scored, unanswerable }: { readonly scored: readonly EvalRecord[]; readonly unanswerable: readonly EvalRecord[] },
  { dataset, protocol: { seed } }: QaManifest['subject'],
): SettingSummary {
  const answers = answersOf(scored, method, k)
  const scores = (metric: typeof exactMatch) => answers.map(({ record, prediction }) => bestOver(metric, prediction.answer, record.answers))
  const estimated = (metric: typeof exactMatch) =>
    estimateShare(
      scores(metric).map((value, i) => ({ cluster: at(answers, i).record.id, value })),
      seed,
    )
  const matches = scores(exactMatch)
  const judged = answers.map(({ prediction }, i) => ({ confidence: prediction.confidence, correct: at(matches, i) }))
  const confidencesWhere = (correct: number) => judged.filter((answer) => answer.correct === correct).map(({ confidence }) => confidence)
  const asked = answers.filter(({ prediction }) => prediction.same_as_k === undefined)
  const stage = (name: keyof Prediction['timings_ms']) => latency(asked.map(({ prediction }) => prediction.timings_ms[name]))
  return {
    method,
    k,
    exactMatch: estimated(exactMatch),
    f1: estimated(f1),
    substringMatch: estimated(substringMatch),
    popqa: dataset === 'popqa' ? estimated(popqaMatch) : null,
    groups: byGroup(answers, matches, seed),
    riskCoverage: riskCoverage(judged),
    aurocCorrect: auroc(confidencesWhere(1), confidencesWhere(0)),
    aurocUnanswerable: auroc(
      confidencesWhere(1),
      answersOf(unanswerable, method, k).map(({ prediction }) => prediction.confidence),
    ),
    latencyMs: { queue: stage('queue'), encode: stage('encode'), generate: stage('generate'), total: stage('total') },
    promptTokens: mean(answers.map(({ prediction }) => prediction.prompt_tokens)),
    contextTokens: mean(answers.map(({ prediction }) => prediction.context_tokens)),
    passagesInDecoder: mean(answers.map(({ prediction }) => prediction.in_decoder)),
    passagesInEncoder: mean(answers.map(({ prediction }) => prediction.in_encoder)),
  }
}

function byGroup(answers: readonly Scored[], matches: readonly number[], seed: number): Record<string, GroupScore[]> {
  const groups = new Map<string, Map<string, Sample[]>>()
  answers.forEach(({ record }, i) => {
    for (const [name, value] of Object.entries(record.groups)) {
      const values = groups.get(name) ?? new Map<string, Sample[]>()
      const scores = values.get(value) ?? []
      scores.push({ cluster: record.id, value: at(matches, i) })
      groups.set(name, values.set(value, scores))
    }
  })
  return Object.fromEntries(
    [...groups].map(([name, values]) => [
      name,
      [...values]
        .map(([value, scores]) => ({ value, exactMatch: estimateShare(scores, seed) }))
        .sort((a, b) => b.exactMatch.n - a.exactMatch.n),
    ]),
  )
}

function summariseRetrieval(scored: readonly EvalRecord[], seed: number, k: number): RetrievalSummary | null {
  const found = scored.filter(({ retrieval }) => retrieval !== null)
  const depth = Math.min(...found.map(({ retrieval }) => retrieval?.ids.length ?? 0))
  if (found.length === 0 || depth === 0) return null
  const depths = [...new Set([...RECALL_DEPTHS, k])].filter((wanted) => wanted > 0 && wanted <= depth).sort((a, b) => a - b)
  const answers = ({ retrieval }: EvalRecord) => retrieval?.answer_ranks ?? []
  const gold = ({ retrieval }: EvalRecord) => [retrieval?.gold_rank ?? []].flat()
  const byDepth = (records: readonly EvalRecord[], ranksOf: typeof answers, metric: typeof recallAt) =>
    (records.length === 0 ? [] : depths).map((wanted) => {
      const values = records.map((record) => ({ cluster: record.id, value: metric(ranksOf(record), wanted) }))
      return { k: wanted, estimate: estimateShare(values, seed) }
    })
  const named = scored.filter(({ has_gold_passage: known }) => known)
  const timings = found.flatMap(({ retrieval }) => retrieval?.timings_ms ?? [])
  return {
    recall: byDepth(found, answers, recallAt),
    curve: Array.from({ length: depth }, (_, i) => ({ k: i + 1, recall: mean(found.map((record) => recallAt(answers(record), i + 1))) })),
    goldRecall: byDepth(named, gold, recallAt),
    ndcg: byDepth(found, answers, ndcgAt),
    mrr: byDepth(found, answers, reciprocalRankAt),
    goldNdcg: byDepth(named, gold, (ranks, wanted) => ndcgAt(ranks, wanted, 1)),
    goldMrr: byDepth(named, gold, reciprocalRankAt),
    latencyMs:
      timings.length === 0
        ? null
        : { embed: latency(timings.map(({ embed }) => embed)), retrieve: latency(timings.map(({ retrieve }) => retrieve)) },
  }
}

/** False if every answer repeats that of a smaller k. */
export function wasAsked({ latencyMs }: SettingSummary): boolean {
  return !Number.isNaN(latencyMs.total.mean)
}

function latency(milliseconds: readonly number[]): Latency {
  const sorted = [...milliseconds].sort((a, b) => a - b)
  return { mean: mean(sorted), p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) }
}
