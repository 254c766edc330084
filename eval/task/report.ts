import { readRunOf } from './read.ts'
import { figure, heading, list, table, text, type Block } from '../report/blocks.ts'
import { publishedBlocks, readPublishedTables, type PublishedTables } from '../report/published-tables.ts'
import { environmentRows, fileText } from '../report/provenance.ts'
import { writeReport, type Report } from '../report/report.ts'
import { describeProblem } from '../datasets/problems.ts'
import { shown, summariseTask, type TaskSummary } from './summary.ts'
import type { TaskRun } from './read.ts'
import type { Metric, Task } from './contract.ts'

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

/** `-` without values. */
function number(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits)
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
