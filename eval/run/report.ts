import { type Block, type Column, heading, itemTable, list, number, table, text } from '../report/blocks.ts'
import { publishedBlocks } from '../report/published-tables.ts'
import { problemBlock, type Report } from '../report/report.ts'
import { type Estimate, relativeSpeed, type TimedPair } from '../statistics/bootstrap.ts'
import type { Evaluation, TaskRun } from './contract.ts'
import type { ManifestFields, SettingResult, TaskManifest, TaskRecord } from './record.ts'
import { type GroupScores, type SettingSummary, shown, summariseTask, type TaskSummary } from './summary.ts'
import type { Metric } from './options.ts'

/** Outputs shown per setting. */
const EXAMPLES = 5
const EXAMPLE_CHARACTERS = 120

/** Builds the report of tasks' runs, one section each. */
export function buildTaskReport(runs: readonly TaskRun[], title?: string, lead: readonly Block[] = []): Report {
  const sections = runs.flatMap((run, i): Block[] => {
    const summary = summariseTask(run.task, run)
    const figures = (run.task.figures?.(summary) ?? []).map((figure) => ({ ...figure, name: `${run.task.name}-${i + 1}-${figure.name}` }))
    return [heading(2, run.task.title), ...taskBlocks(run, summary, figures)]
  })
  const [only] = runs
  const name = title ?? (runs.length === 1 && only ? `${only.task.title}: evaluation` : 'Evaluation')
  return { title: name, blocks: [heading(1, name), ...lead, ...sections] }
}

function taskBlocks(run: TaskRun, summary: TaskSummary, figures: readonly Block[]): Block[] {
  const { task, manifest } = run
  const { subject } = manifest
  return [
    text(`${task.description} ${summary.scored} of ${summary.items} items are scored. Reader: ${subject.reader}.`),
    leftOut(summary),
    settingsTable(task, summary, run.records),
    ...figures,
    ...firstMetricByGroup(task, summary),
    ...(task.tables?.(summary) ?? []),
    ...(task.publishedTable === undefined ? [] : publishedBlocks(task.publishedTable, subject.reader)),
    ...examples(run),
    ...provenance(manifest, [...subject.files.map((file) => ['data', fileText(file)]), ...Object.entries(subject.options)], task.notes),
  ]
}

/** Problems, and settings without a score for every item. */
function leftOut({ problems, settings, scored }: TaskSummary): Block {
  const unasked = settings.filter(({ n }) => n < scored)
  return problemBlock(
    problems,
    unasked.map(({ setting, n }) => `${setting}: ${scored - n} of ${scored} items were skipped, since they exceed the model's window`),
  )
}

/** Metric of speeds relative to the first row. */
const RELATIVE: Metric = { name: 'relative', label: '', aggregate: 'mean', digits: 2 }

/** One row per setting: all metrics, tokens, and speed relative to the first row if there are enough items. */
function settingsTable({ metrics }: Evaluation, { settings }: TaskSummary, records: readonly TaskRecord[]): Block {
  const speeds = settings.map(({ setting }) => relativeSpeed(timedPairs(records, settings[0]?.setting, setting)))
  const timed = speeds.some((speed) => speed !== undefined)
  const cell = (metric: Metric, value: Estimate | undefined) => (value ? shown(metric, value) : '-')
  const speed: Column<SettingSummary> = ['tokens/s, relative', (_, i) => cell(RELATIVE, speeds[i])]
  return itemTable(settings, [
    ['setting', ({ setting }) => setting],
    ...metrics.map((metric): Column<SettingSummary> => [metric.label, ({ scores }) => cell(metric, scores[metric.name])]),
    ['decoder tokens', ({ tokens }) => number(tokens.decoder, 0)],
    ['encoder tokens', ({ tokens }) => number(tokens.encoder, 0)],
    ...(timed ? [speed] : []),
    ['cache (MiB, computed)', ({ cacheMiB }) => number(cacheMiB, 2)],
    ['median ms', ({ medianMs }) => number(medianMs, 0)],
  ])
}

/** Items in the first setting and in another, without the very first item, which finds cold caches. */
function timedPairs(records: readonly TaskRecord[], first: string | undefined, setting: string): TimedPair[] {
  const scored = records.filter(({ skipped }) => !skipped)
  const cost = ({ tokens, ms }: SettingResult) => ({ tokens: tokens.decoder + tokens.encoder + tokens.generated, ms })
  return scored.slice(1).flatMap(({ id, results }) => {
    const [base, other] = [first, setting].map((name) => results.find((result) => result.setting === name))
    return base && other && base.ms > 0 && other.ms > 0 ? [{ id, base: cost(base), other: cost(other) }] : []
  })
}

/** The first metric of every setting per group of items. */
function firstMetricByGroup({ metrics: [metric] }: Evaluation, { settings }: TaskSummary): Block[] {
  if (metric === undefined) return []
  const show = ({ mean, n }: Estimate) => (n > 0 ? mean.toFixed(metric.digits) : '-')
  const named = settings.map(({ setting: name, groups }) => ({ name, groups }))
  return groupTables(named, { ...metric, what: 'items', leastValues: 2, show })
}

/** The first few outputs of a generating task. */
function examples({ records }: TaskRun): Block[] {
  const cut = (value: string) => (value.length > EXAMPLE_CHARACTERS ? `${value.slice(0, EXAMPLE_CHARACTERS)} ...` : value)
  const written = records.filter(({ results }) => results.some(({ output }) => output !== undefined)).slice(0, EXAMPLES)
  const rows = written.flatMap(({ id, results }) =>
    results.map(({ setting, output = '', expected = [] }, i) => {
      const shownOutput = output.trim() === '' ? '(nothing)' : cut(output.trim())
      return [i === 0 ? id : '', setting, shownOutput, cut(expected.slice(0, 2).join('; '))]
    }),
  )
  return rows.length === 0 ? [] : [heading(3, 'First outputs'), table(['item', 'setting', 'output', 'expected'], rows, 4)]
}

interface ShownScore {
  /** Key and label of the score. */
  readonly name: string
  readonly label: string
  /** Plural noun for the items. */
  readonly what: string
  /** Groups with fewer values have no table. */
  readonly leastValues: number
  readonly show: (estimate: Estimate) => string
}

/** One table per group of items: a score of every setting by the group's values. */
export function groupTables(
  settings: readonly { readonly name: string; readonly groups: readonly GroupScores[] }[],
  { name, label, what, leastValues, show }: ShownScore,
): Block[] {
  const all = settings.flatMap(({ groups }) => groups)
  return [...new Set(all.map(({ group }) => group))].flatMap((group) => {
    const values = [...new Set(all.filter((score) => score.group === group).map(({ value }) => value))]
    if (values.length < leastValues) return []
    const words = group.replaceAll('_', ' ')
    const rows = values.map((value) => {
      const scores = settings.map(({ groups }) => groups.find((score) => score.group === group && score.value === value))
      const estimates = scores.map((score) => score?.scores[name])
      return [value, String(scores[0]?.n ?? 0), ...estimates.map((estimate) => (estimate ? show(estimate) : '-'))]
    })
    return [heading(3, `${label} by ${words}`), table([words, what, ...settings.map((setting) => setting.name)], rows)]
  })
}

export function fileText({ file, sha256 }: TaskManifest['subject']['files'][number]): string {
  return `${file} (SHA-256 ${sha256.slice(0, 12)})`
}

/** The end of a report: how a run was measured, with what and when. @param rows what the task adds to its table */
export function provenance(
  { subject, environment, started_at: startedAt, resumed }: ManifestFields & { readonly subject: { readonly reader: string } },
  rows: readonly (readonly string[])[],
  notes: readonly string[],
): Block[] {
  const { client, version, node, platform, cores, cpu, memory_gb: memory } = environment
  const measured = [
    ['reader', subject.reader],
    ...rows,
    ['asked', `${client}, from ${startedAt}`],
    ...resumed.map(({ at, index_version: index }) => ['resumed', index === null ? at : `${at}, index version ${index}`]),
    ['evaluated with', `version ${version}, Node ${node}, ${platform}, ${cores} x ${cpu}, ${memory} GB`],
  ]
  return [heading(3, 'How it was measured'), table(['what', 'value'], measured, 2), list(notes)]
}
