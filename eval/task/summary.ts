import type { Problem } from '../datasets/question-set.ts'
import type { Stored } from '../runner/folder.ts'
import { skippedProblems } from '../runner/manifest.ts'
import { estimate, estimateShare, mean, quantile, type Estimate, type Sample } from '../statistics/bootstrap.ts'
import { relativeSpeed, type TimedPair } from '../statistics/speed.ts'
import { clusterOf, type SettingResult, type TaskManifest, type TaskRecord } from './record.ts'

/** How scores of a metric are aggregated. */
export interface Metric {
  /** Key of a result's scores. */
  readonly name: string
  readonly label: string
  /** percent: mean, times 100. perplexity: exp of the mean of losses. */
  readonly aggregate: 'percent' | 'mean' | 'perplexity'
  readonly digits: number
}

export interface GroupScores {
  readonly group: string
  readonly value: string
  readonly n: number
  readonly scores: Readonly<Record<string, Estimate>>
}

export interface SettingSummary {
  readonly setting: string
  readonly n: number
  readonly scores: Readonly<Record<string, Estimate>>
  readonly groups: readonly GroupScores[]
  readonly tokens: { readonly decoder: number; readonly encoder: number; readonly generated: number }
  readonly medianMs: number
  /** Tokens per second relative to the first setting, from items asked in both; undefined for too few. */
  readonly relativeSpeed: Estimate | undefined
  /** Mebibytes of keys, values and encoder states that the setting holds, computed from the model's sizes (f32). */
  readonly cacheMiB: number
}

export interface TaskSummary {
  readonly items: number
  readonly scored: number
  readonly problems: readonly Problem[]
  readonly settings: readonly SettingSummary[]
}

/** A score of a setting that is no mean over items. */
export interface DerivedMetric extends Metric {
  /** Undefined without scored items. */
  readonly of: (setting: Pick<SettingSummary, 'groups'>) => number | undefined
}

const BYTES = 4

/** All scores of a task's run. */
export function summariseTask(
  { metrics, derived = [] }: { readonly metrics: readonly Metric[]; readonly derived?: readonly DerivedMetric[] },
  { manifest, records }: Stored<TaskManifest, TaskRecord>,
): TaskSummary {
  const scored = records.filter(({ skipped }) => !skipped)
  return {
    items: manifest.data.items,
    scored: scored.length,
    problems: [...manifest.data.problems, ...skippedProblems(records, ({ message }) => message)],
    settings: manifest.subject.settings.map((setting) => {
      const { scores, ...summary } = summariseSetting(metrics, setting, scored, manifest.model)
      const further = derived.map(({ name, of }): [string, Estimate] => {
        const value = of(summary)
        return [name, { mean: value ?? NaN, low: NaN, high: NaN, n: value === undefined ? 0 : summary.n }]
      })
      const speed = relativeSpeed(timedPairs(scored, manifest.subject.settings[0], setting))
      return { ...summary, scores: { ...scores, ...Object.fromEntries(further) }, relativeSpeed: speed }
    }),
  }
}

/** Items in the first setting and in another, without the very first item, which finds cold caches. */
function timedPairs(records: readonly TaskRecord[], first: string | undefined, setting: string): TimedPair[] {
  const cost = ({ tokens, ms }: SettingResult) => ({ tokens: tokens.decoder + tokens.encoder + tokens.generated, ms })
  return records.slice(1).flatMap(({ id, results }) => {
    const [base, other] = [first, setting].map((name) => results.find((result) => result.setting === name))
    return base && other && base.ms > 0 && other.ms > 0 ? [{ id, base: cost(base), other: cost(other) }] : []
  })
}

function summariseSetting(
  metrics: readonly Metric[],
  setting: string,
  records: readonly TaskRecord[],
  model: TaskManifest['model'],
): Omit<SettingSummary, 'relativeSpeed'> {
  const found = records.flatMap((record) =>
    record.results.filter((result) => result.setting === setting).map((result) => ({ record, result })),
  )
  const results = found.map(({ result }) => result)
  const names = [...new Set(records.flatMap(({ groups }) => Object.keys(groups)))]
  const tokens = {
    decoder: mean(results.map((result) => result.tokens.decoder)),
    encoder: mean(results.map((result) => result.tokens.encoder)),
    generated: mean(results.map((result) => result.tokens.generated)),
  }
  return {
    setting,
    n: results.length,
    scores: scoresOf(metrics, found),
    groups: names.flatMap((group) =>
      [...new Set(found.map(({ record }) => record.groups[group]).filter((value) => value !== undefined))].map((value) => {
        const members = found.filter(({ record }) => record.groups[group] === value)
        return { group, value, n: members.length, scores: scoresOf(metrics, members) }
      }),
    ),
    tokens,
    medianMs: quantile(
      results.map(({ ms }) => ms).sort((a, b) => a - b),
      0.5,
    ),
    cacheMiB:
      (mean(results.map((result) => result.cached_tokens ?? result.tokens.decoder + result.tokens.generated)) *
        model.layers *
        2 *
        model.kv_heads *
        model.head_dim *
        BYTES +
        tokens.encoder * model.encoder_hidden_size * BYTES) /
      2 ** 20,
  }
}

/** By metric, over the results that have it. */
function scoresOf(
  metrics: readonly Metric[],
  found: readonly { readonly record: TaskRecord; readonly result: SettingResult }[],
): Record<string, Estimate> {
  return Object.fromEntries(
    metrics.map((metric) => {
      const samples = found.flatMap(({ record, result }): Sample[] => {
        const value = result.scores[metric.name]
        return value === undefined ? [] : [{ cluster: clusterOf(record), value }]
      })
      return [metric.name, aggregated(metric, (metric.aggregate === 'percent' ? estimateShare : estimate)(samples, 0))]
    }),
  )
}

function aggregated({ aggregate }: Metric, value: Estimate): Estimate {
  const change = (number: number): number =>
    aggregate === 'perplexity' ? Math.exp(number) : aggregate === 'percent' ? 100 * number : number
  return { mean: change(value.mean), low: change(value.low), high: change(value.high), n: value.n }
}

/** `1.23 (1.1, 1.4)`, `1.23` without an interval, or `-` without values. */
export function shown({ digits }: Metric, { mean: value, low, high, n }: Estimate): string {
  if (Number.isNaN(low)) return n === 0 ? '-' : value.toFixed(digits)
  return `${value.toFixed(digits)} (${low.toFixed(digits)}, ${high.toFixed(digits)})`
}
