import { at, mean } from '../../../base/at.ts'
import { auroc, aurocCorrect, riskCoverage } from '../../metrics/confidence.ts'
import { ndcgAt, recallAt, reciprocalRankAt } from '../../metrics/retrieval.ts'
import { skippedProblems } from '../../run/record.ts'
import { estimateShare, quantile } from '../../statistics/bootstrap.ts'
import { type GroupScores, type SettingSummary as CommonSummary, summariseTask } from '../../run/summary.ts'
import type { EvalRecord, Prediction, QaManifest } from './record.ts'
import { largestK, type Setting, settingsOf } from './protocol.ts'
import { scoresOf, taskRunOf } from './scores.ts'

/** Depths for recall, as in the literature. */
const RECALL_DEPTHS = [1, 5, 20, 50, 100] as const
export const STAGES = ['queue', 'encode', 'generate'] as const

const SCORES = ['exact_match', 'f1', 'substring_match', 'popqa'] as const
const METRICS = SCORES.map((name) => ({ name, label: name, digits: 1, aggregate: 'share' as const }))

export type Summary = ReturnType<typeof summarise>
export type SettingSummary = ReturnType<typeof summariseSetting>

/** All scores of a run; `scored` are the answerable questions with an answer in every setting. */
export function summarise(manifest: QaManifest, records: readonly EvalRecord[]) {
  const { subject, data } = manifest
  const answered = records.filter(({ skipped }) => !skipped)
  const scored = answered.filter(({ answerable }) => answerable)
  const unanswerable = answered.filter(({ answerable }) => !answerable)
  const common = summariseTask({ metrics: METRICS }, taskRunOf({ manifest, records }))
  return {
    asked: data.answerable + data.unanswerable,
    scored: scored.length,
    unanswerable: unanswerable.length,
    problems: [...data.problems, ...skippedProblems(records, ({ code, setting }) => `${code} in ${setting ?? 'retrieval'}`)],
    settings: settingsOf(subject.protocol).map((setting, i) =>
      summariseSetting(setting, at(common.settings, i), { scored, unanswerable, isPopqa: subject.dataset === 'popqa' }),
    ),
    retrieval: summariseRetrieval(scored, subject.protocol.seed, largestK(subject.protocol)),
  }
}

export function answersOf(records: readonly EvalRecord[], method: string, k: number) {
  return records.flatMap((record) =>
    record.predictions
      .filter((prediction) => prediction.method === method && prediction.k === k)
      .map((prediction) => ({ record, prediction })),
  )
}

function summariseSetting(
  { method, k }: Pick<Setting, 'method' | 'k'>,
  { scores, groups, tokens }: CommonSummary,
  asked: { readonly scored: readonly EvalRecord[]; readonly unanswerable: readonly EvalRecord[]; readonly isPopqa: boolean },
) {
  const answers = answersOf(asked.scored, method, k)
  const judged = answers.map(({ record, prediction }) => ({
    confidence: prediction.confidence,
    correct: scoresOf(prediction.answer, record.answers).exact_match,
  }))
  const timed = answers.filter(({ prediction }) => prediction.same_as_k === undefined)
  const stage = (name: keyof Prediction['timings_ms']) => latency(timed.map(({ prediction }) => prediction.timings_ms[name]))
  const estimateOf = (name: (typeof SCORES)[number]) => scores[name] ?? estimateShare([], 0)
  return {
    method,
    k,
    exactMatch: estimateOf('exact_match'),
    f1: estimateOf('f1'),
    substringMatch: estimateOf('substring_match'),
    /** PopQA's own accuracy; null for other datasets. */
    popqa: asked.isPopqa ? estimateOf('popqa') : null,
    /** By answer type, popularity ..., largest groups first. */
    groups: [...new Set(groups.map(({ group }) => group))].flatMap((name) => largestFirst(groups, name)),
    /** Of the confidence, exact match counting as right. */
    riskCoverage: riskCoverage(judged),
    aurocCorrect: aurocCorrect(judged),
    /** Right answers against answers to unanswerable questions; NaN without those. */
    aurocUnanswerable: auroc(
      judged.flatMap(({ confidence, correct }) => (correct === 1 ? confidence : [])),
      answersOf(asked.unanswerable, method, k).map(({ prediction }) => prediction.confidence),
    ),
    latencyMs: { queue: stage('queue'), encode: stage('encode'), generate: stage('generate'), total: stage('total') },
    promptTokens: tokens.decoder,
    contextTokens: tokens.encoder,
    passagesInDecoder: mean(answers.map(({ prediction }) => prediction.in_decoder)),
    passagesInEncoder: mean(answers.map(({ prediction }) => prediction.in_encoder)),
  }
}

function largestFirst(groups: readonly GroupScores[], name: string): GroupScores[] {
  return groups.filter(({ group }) => group === name).sort((a, b) => b.n - a.n)
}

/** By depth, over passages that contain an answer and, where the dataset names one, for the gold passage. */
function summariseRetrieval(scored: readonly EvalRecord[], seed: number, k: number) {
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
    // The ideal ranking has all found passages first.
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

export type Latency = ReturnType<typeof latency>

function latency(milliseconds: readonly number[]) {
  return { mean: mean(milliseconds), p50: quantile(milliseconds, 0.5), p95: quantile(milliseconds, 0.95) }
}
