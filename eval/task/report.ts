import { CodedError } from '../../base/errors.ts'
import { describeProblem } from '../datasets/question-set.ts'
import { type Block, figure, heading, list, number, table, text } from '../report/blocks.ts'
import { compareItems, comparisonTable } from '../report/comparison.ts'
import { publishedBlocks, type PublishedTables, readPublishedTables } from '../report/published-tables.ts'
import { environmentRows, fileText, type Report, writeReport } from '../report/report.ts'
import { readStored, type Stored, taskOfRun } from '../runner/folder.ts'
import { sharedItems } from '../statistics/paired.ts'
import type { Metric, Task } from './contract.ts'
import { clusterOf, TASK_RUNS, type TaskManifest, type TaskRecord } from './record.ts'
import { shown, summariseTask, type TaskSummary } from './summary.ts'
import { TASKS } from '../tasks/list.ts'

/** Outputs shown per setting. */
const EXAMPLES = 5
const EXAMPLE_CHARACTERS = 120

/** Builds the report of tasks' runs, one section each. */
export function buildTaskReport(runs: readonly TaskRun[], published: PublishedTables, title?: string, lead: readonly Block[] = []): Report {
  const figures: [string, Report['figures'] extends ReadonlyMap<string, infer Spec> ? Spec : never][] = []
  const sections = runs.flatMap((run, i): Block[] => {
    const summary = summariseTask(run.task, run)
    const drawn = (run.task.figures?.(summary) ?? []).map(({ name, caption, spec }) => {
      const file = `${run.task.name}-${i + 1}-${name}`
      figures.push([file, spec])
      return figure(file, caption)
    })
    return [heading(2, run.task.title), ...taskBlocks(run, summary, drawn, published)]
  })
  const [only] = runs
  const name = title ?? (runs.length === 1 && only ? `${only.task.title}: evaluation` : 'Evaluation')
  return { title: name, blocks: [heading(1, name), ...lead, ...sections], figures: new Map(figures) }
}

function taskBlocks(run: TaskRun, summary: TaskSummary, figures: readonly Block[], published: PublishedTables): Block[] {
  const { task, manifest } = run
  return [
    text(`${task.description} ${summary.scored} of ${summary.items} items are scored.`),
    leftOut(summary),
    settingsTable(task, summary),
    ...figures,
    ...groupTables(task, summary),
    ...(task.tables?.(summary) ?? []),
    ...(task.publishedTable === undefined ? [] : publishedBlocks(published, task.publishedTable, manifest.subject.reader)),
    ...examples(run),
    heading(3, 'How it was measured'),
    table(
      ['what', 'value'],
      [
        ['reader', manifest.subject.reader],
        ...manifest.subject.files.map((file) => ['data', fileText(file)]),
        ...Object.entries(manifest.subject.options).map(([name, value]) => [name, value]),
        ...environmentRows(manifest),
      ],
      2,
    ),
    list(task.notes),
  ]
}

/** Problems, and settings without a score for every item. */
function leftOut({ problems, settings, scored }: TaskSummary): Block {
  const unasked = settings.filter(({ n }) => n < scored)
  const lines = [
    ...problems.map(describeProblem),
    ...unasked.map(({ setting, n }) => `${setting}: ${scored - n} of ${scored} items were skipped, since they exceed the model's window`),
  ]
  return lines.length === 0 ? text('Nothing was skipped.') : list(lines)
}

/** Metric of speeds relative to the first row. */
const RELATIVE: Metric = { name: 'relative', label: '', aggregate: 'mean', digits: 2 }

/** One row per setting: all metrics, tokens, and speed relative to the first row if there are enough items. */
function settingsTable({ metrics }: Task, { settings }: TaskSummary): Block {
  const timed = settings.some(({ relativeSpeed }) => relativeSpeed !== undefined)
  return table(
    [
      'setting',
      ...metrics.map(({ label }) => label),
      'decoder tokens',
      'encoder tokens',
      ...(timed ? ['tokens/s, relative'] : []),
      'cache (MiB, computed)',
      'median ms',
    ],
    settings.map((setting) => [
      setting.setting,
      ...metrics.map((metric) => {
        const value = setting.scores[metric.name]
        return value ? shown(metric, value) : '-'
      }),
      number(setting.tokens.decoder, 0),
      number(setting.tokens.encoder, 0),
      ...(timed ? [setting.relativeSpeed === undefined ? '-' : shown(RELATIVE, setting.relativeSpeed)] : []),
      number(setting.cacheMiB, 2),
      number(setting.medianMs, 0),
    ]),
  )
}

/** The first metric of every setting per group of items. */
function groupTables({ metrics }: Task, { settings }: TaskSummary): Block[] {
  const [metric] = metrics
  const groups = [...new Set(settings.flatMap((setting) => setting.groups.map(({ group }) => group)))]
  if (metric === undefined) return []
  return groups.flatMap((group) => {
    const values = [
      ...new Set(settings.flatMap((setting) => setting.groups.filter((score) => score.group === group).map(({ value }) => value))),
    ]
    if (values.length < 2) return []
    return [
      heading(3, `${metric.label} by ${group.replaceAll('_', ' ')}`),
      table(
        [group.replaceAll('_', ' '), 'items', ...settings.map(({ setting }) => setting)],
        values.map((value) => {
          const scores = settings.map((setting) => setting.groups.find((score) => score.group === group && score.value === value))
          return [
            value,
            String(scores[0]?.n ?? 0),
            ...scores.map((score) => {
              const estimate = score?.scores[metric.name]
              return estimate && estimate.n > 0 ? estimate.mean.toFixed(metric.digits) : '-'
            }),
          ]
        }),
      ),
    ]
  })
}

/** The first few outputs of a generating task. */
function examples({ records }: TaskRun): Block[] {
  const cut = (value: string) => (value.length > EXAMPLE_CHARACTERS ? `${value.slice(0, EXAMPLE_CHARACTERS)} ...` : value)
  const rows = records
    .filter(({ results }) => results.some(({ output }) => output !== undefined))
    .slice(0, EXAMPLES)
    .flatMap(({ id, results }) =>
      results.map(({ setting, output, expected }, i) => [
        i === 0 ? id : '',
        setting,
        output === undefined || output.trim() === '' ? '(nothing)' : cut(output.trim()),
        cut((expected ?? []).slice(0, 2).join('; ')),
      ]),
    )
  return rows.length === 0 ? [] : [heading(3, 'First outputs'), table(['item', 'setting', 'output', 'expected'], rows, 4)]
}

/** Reads runs of tasks and writes their report. */
export async function reportTaskRuns(
  folders: readonly string[],
  out: string,
  { title, lead, appended }: { readonly title?: string; readonly lead?: readonly Block[]; readonly appended?: Report } = {},
): Promise<void> {
  const runs = await Promise.all(folders.map(readRunOf))
  const report = buildTaskReport(runs, await readPublishedTables(), title, lead)
  // As a section of another report, headings are one level lower.
  const blocks = (appended?.blocks ?? []).map((block) =>
    block.kind === 'heading' ? heading(block.level === 1 ? 2 : 3, block.text) : block,
  )
  await writeReport(
    {
      title: report.title,
      blocks: [...report.blocks, ...blocks],
      figures: new Map([...report.figures, ...(appended?.figures ?? [])]),
    },
    out,
  )
}

/**
 * Paired differences of two runs of the same task, item by item, in every common setting and metric.
 * @throws run_mismatch if they share none
 */
export function compareTaskRuns(a: TaskRun, b: TaskRun): Block[] {
  if (a.task !== b.task) throw new CodedError('run_mismatch', `The runs are of different tasks: ${a.task.name} and ${b.task.name}.`)
  const pairs = sharedItems(a.records, b.records, ({ skipped }) => !skipped)
  const compared = a.manifest.subject.settings.flatMap((setting) =>
    a.task.metrics.map(({ name, label, aggregate }) => ({
      ...{ setting, metric: aggregate === 'perplexity' ? `${label} (as loss)` : label, digits: 3 },
      scale: aggregate === 'percent' ? 100 : 1,
      scoreOf: ({ results }: TaskRecord) => results.find((result) => result.setting === setting)?.scores[name],
    })),
  )
  const comparisons = compareItems(pairs, compared, { clusterOf, seed: 0 })
  if (comparisons.length === 0) throw new CodedError('run_mismatch', 'The two runs share no scored item in a common setting.')
  return [
    text(
      'Differences are second minus first over the items that both scored, with 95 % intervals of the paired bootstrap; rows about the same question or document are resampled as one.',
    ),
    comparisonTable(comparisons),
  ]
}

export interface TaskRun extends Stored<TaskManifest, TaskRecord> {
  readonly task: Task
}

/** Reads a task's run. @throws run_invalid if the folder holds no run of this version's tasks */
export async function readRunOf(folder: string): Promise<TaskRun> {
  const name = await taskOfRun(folder)
  const task = TASKS.find((candidate) => candidate.name === name)
  if (task === undefined)
    throw new CodedError(
      'run_invalid',
      `${folder} holds a run of ${name}, which cannot be reported together with runs of ${TASKS.map((known) => known.name).join(', ')}.`,
    )
  const stored = await readStored(folder, TASK_RUNS)
  if (stored.manifest.subject.version !== task.version)
    throw new CodedError(
      'run_mismatch',
      `${folder} is of version ${stored.manifest.subject.version} of the task ${task.name}; this is version ${task.version}: run it again.`,
    )
  return { ...stored, task }
}
