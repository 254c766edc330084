import { mean } from '../../base/at.ts'
import type { Stored } from './folder.ts'
import { estimate, estimateShare, quantile, type Estimate, type Sample } from '../statistics/bootstrap.ts'
import { clusterOf, skippedProblems, type SettingResult, type TaskManifest, type TaskRecord } from './record.ts'
import type { Metric } from './options.ts'

/** A score of a setting that is no mean over items. */
export interface DerivedMetric extends Metric {
  /** Undefined without scored items. */
  readonly of: (setting: Pick<SettingSummary, 'groups'>) => number | undefined
}

export interface GroupScores {
  readonly group: string
  readonly value: string
  readonly n: number
  readonly scores: Readonly<Record<string, Estimate>>
}

export type SettingSummary = ReturnType<typeof summariseSetting>
export type TaskSummary = ReturnType<typeof summariseTask>

const BYTES = 4

export function summariseTask(
  { metrics, derived = [] }: { readonly metrics: readonly Metric[]; readonly derived?: readonly DerivedMetric[] },
  { manifest, records, seed }: Stored<TaskManifest, TaskRecord> & { readonly seed: number },
) {
  const scored = records.filter(({ skipped }) => !skipped)
  return {
    items: manifest.data.items,
    scored: scored.length,
    problems: [...manifest.data.problems, ...skippedProblems(records, ({ message }) => message)],
    settings: manifest.subject.settings.map((setting): SettingSummary => {
      const { scores, ...summary } = summariseSetting({ metrics, setting, seed, model: manifest.model }, scored)
      const further = derived.map(({ name, of }): [string, Estimate] => {
        const value = of(summary)
        return [name, { mean: value ?? NaN, low: NaN, high: NaN, n: value === undefined ? 0 : summary.n }]
      })
      return { ...summary, scores: { ...scores, ...Object.fromEntries(further) } }
    }),
  }
}

function summariseSetting(
  { metrics, setting, seed, model }: { metrics: readonly Metric[]; setting: string; seed: number; model: TaskManifest['model'] },
  records: readonly TaskRecord[],
) {
  const found = records.flatMap((record) =>
    record.results.filter((result) => result.setting === setting).map((result) => ({ record, result })),
  )
  const results = found.map(({ result }) => result)
  const times = results.map(({ ms }) => ms)
  const names = [...new Set(records.flatMap(({ groups }) => Object.keys(groups)))]
  const meanTokens = (part: keyof SettingResult['tokens']) => mean(results.map(({ tokens }) => tokens[part]))
  const tokens = { decoder: meanTokens('decoder'), encoder: meanTokens('encoder'), generated: meanTokens('generated') }
  const cached = mean(results.map((result) => result.cached_tokens ?? result.tokens.decoder + result.tokens.generated))
  const cacheBytes = model
    ? cached * model.layers * 2 * model.kv_heads * model.head_dim * BYTES + tokens.encoder * model.encoder_hidden_size * BYTES
    : Number.NaN
  return {
    setting,
    n: results.length,
    scores: scoresOf(metrics, found, seed),
    groups: names.flatMap((group) =>
      [...new Set(found.map(({ record }) => record.groups[group]).filter((value) => value !== undefined))].map((value): GroupScores => {
        const members = found.filter(({ record }) => record.groups[group] === value)
        return { group, value, n: members.length, scores: scoresOf(metrics, members, seed) }
      }),
    ),
    tokens,
    medianMs: quantile(times, 0.5),
    /** Mebibytes of keys, values and encoder states that the setting holds, computed from the model's sizes (f32). */
    cacheMiB: cacheBytes / 2 ** 20,
  }
}

/** By metric, over the results that have it. */
function scoresOf(
  metrics: readonly Metric[],
  found: readonly { readonly record: TaskRecord; readonly result: SettingResult }[],
  seed: number,
): Record<string, Estimate> {
  return Object.fromEntries(
    metrics.map((metric) => {
      const samples = found.flatMap(({ record, result }): Sample[] => {
        const value = result.scores[metric.name]
        return value === undefined ? [] : [{ cluster: clusterOf(record), value }]
      })
      const isShare = metric.aggregate === 'share' || metric.aggregate === 'percent'
      return [metric.name, aggregated(metric, isShare ? estimateShare(samples, seed) : estimate(samples, seed))]
    }),
  )
}

function aggregated({ aggregate }: Metric, value: Estimate): Estimate {
  const change = (number: number): number =>
    aggregate === 'perplexity' ? Math.exp(number) : aggregate === 'percent' ? 100 * number : number
  return { mean: change(value.mean), low: change(value.low), high: change(value.high), n: value.n }
}

/** `1.23 (1.1, 1.4)`, `1.23` without an interval, or `-` without values. */
export function shown({ digits }: Pick<Metric, 'digits'>, { mean: value, low, high, n }: Estimate): string {
  if (Number.isNaN(low)) return n === 0 ? '-' : value.toFixed(digits)
  return `${value.toFixed(digits)} (${low.toFixed(digits)}, ${high.toFixed(digits)})`
}
