import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { hasRun, OPEN_DOMAIN_QA } from '../runner/folder.ts'
import { type Cell, cellName, cellsOfModel, modelFolder, printedValue, publishedRow, publishedScore } from './cells.ts'
import { PAPERS, type Preset, type PresetRow } from './read.ts'
import { type NotAsked, questionSetting } from './run.ts'
import { type Block, heading, list, table, text } from '../report/blocks.ts'
import type { PublishedTables } from '../report/published-tables.ts'
import type { Report } from '../report/report.ts'
import { type Estimate, mean } from '../statistics/bootstrap.ts'
import { readRunOf } from '../task/report.ts'
import { type Metric, shown, summariseTask } from '../task/summary.ts'

export interface PresetReportOptions {
  readonly cells: readonly Cell[]
  readonly published: PublishedTables
  readonly readers: readonly ReaderScores[]
  readonly notAsked: NotAsked
  readonly fileOf: (name: string) => string | undefined
}

/** Report of a paper's table: published rows, each followed by measured scores, footnotes, and what could not be asked. */
export function presetReport(preset: Preset, { cells, published, readers, notAsked, fileOf }: PresetReportOptions): Report {
  const title = `${PAPERS[preset.paper]}, Table ${preset.table}: ${preset.title}`
  const known = published.tables[preset.table]
  const footnotes = published.doubtful.filter((entry) => entry.table === preset.table).map(({ cell, why }) => `Footnote, ${cell}: ${why}.`)
  const missing = [...notAsked].map(([cell, why]) => `${cell}: ${why}`)
  const left = [...missing, ...readers.flatMap(({ incomplete }) => incomplete)]
  return {
    title,
    figures: new Map(),
    blocks: [
      heading(1, title),
      text(known === undefined ? `${published.source}.` : `Published: ${known.what} (${published.source}).`),
      scoresTable(preset, known?.rows ?? [], readers),
      list([
        "Published scores are of 16-bit weights; a reader's precision is the end of its id. Measured scores have 95 % intervals.",
        ...preset.notes,
        ...footnotes,
      ]),
      ...(left.length === 0 ? [] : [heading(2, 'Not asked'), list(left)]),
      heading(2, 'Models'),
      modelsTable(preset),
      heading(2, 'Data files'),
      filesTable(preset, cells, fileOf),
    ],
  }
}

/** For each row the published scores, then those of every reader. */
function scoresTable(preset: Preset, rows: PublishedTables['tables'][string]['rows'], readers: readonly ReaderScores[]): Block {
  const labels = [...new Set(preset.rows.flatMap(({ label }) => Object.keys(label)))]
  const columns = preset.columns.map(({ name }) => name)
  const further = [...new Set(preset.rows.flatMap((row) => Object.keys(publishedRow(rows, row) ?? {})))].filter(
    (field) => !labels.includes(field) && !columns.includes(field) && field !== 'perplexity_above' && field !== 'oracle',
  )
  const named = (row: PresetRow, whose: string, cells: readonly string[]) => [
    ...labels.map((field) => labelled(row, field)),
    whose,
    ...cells,
  ]
  const body = preset.rows.flatMap((row) => {
    const printed = [
      ...columns.map((column) => publishedScore(rows, row, column) ?? '-'),
      ...further.map((field) => printedValue(publishedRow(rows, row)?.[field]) ?? '-'),
    ]
    const measured = readers.flatMap((reader) => {
      const cells = measuredRow(preset, row, reader)
      return cells === undefined ? [] : [named(row, reader.reader, [...cells, ...further.map(() => '-')])]
    })
    const unpublished = printed.every((cell) => cell === '-')
    return unpublished && measured.length > 0 ? measured : [named(row, 'published', printed), ...measured]
  })
  return table([...labels, 'scores', ...columns, ...further], body, labels.length + 1)
}

function labelled({ label }: PresetRow, field: string): string {
  const value = label[field]
  return value === undefined ? '' : String(value)
}

/** Checkpoints of the rows. */
function modelsTable({ models }: Preset): Block {
  return table(
    ['model', 'checkpoint', 'also for'],
    models.map(({ name, checkpoints, fallback }) => [
      name,
      checkpoints.length === 0 ? '- (--as)' : checkpoints.join(', '),
      fallback === undefined ? '' : { encoder: 'any model with an encoder', decoder: 'any model without one', any: 'any model' }[fallback],
    ]),
    3,
  )
}

function filesTable({ files }: Preset, cells: readonly Cell[], fileOf: (name: string) => string | undefined): Block {
  const used = [...new Set(cells.flatMap((cell) => Object.values(cell.files)))]
  return table(
    ['file', 'there', 'what', 'from'],
    used.map((name) => {
      const file = fileOf(name)
      return [name, file === undefined ? 'missing' : path.basename(file), files[name]?.what ?? '', files[name]?.from ?? '']
    }),
    4,
  )
}

/** Scores of one reader in the cells of a table. */
export interface ReaderScores {
  readonly reader: string
  /** By cell name. */
  readonly scores: ReadonlyMap<string, { readonly metric: Metric; readonly estimate: Estimate }>
  /** Cells with an incomplete run, or without scored items, with counts. */
  readonly incomplete: readonly string[]
}

/** Scores of all readers with runs in the folder, by the model of the table that each was asked for, then by name. */
export async function readScores(out: string, preset: Preset, cells: readonly Cell[]): Promise<ReaderScores[]> {
  const read = await Promise.all(preset.models.map(({ name }) => scoresIn(modelFolder(out, name), cellsOfModel(cells, name))))
  return read.flat()
}

async function scoresIn(folder: string, cells: readonly Cell[]): Promise<ReaderScores[]> {
  if (!(await exists(folder))) return []
  const entries = await readdir(folder, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name))
  const read = await Promise.all(folders.sort().map((reader) => scoresOf(reader, cells)))
  return read.filter(({ scores, incomplete }) => scores.size > 0 || incomplete.length > 0)
}

async function scoresOf(folder: string, cells: readonly Cell[]): Promise<ReaderScores> {
  const runs = new Map<string, Promise<ReadRun | undefined>>()
  const runOf = (run: string): Promise<ReadRun | undefined> => {
    const known = runs.get(run) ?? readOne(path.join(folder, run))
    runs.set(run, known)
    return known
  }
  const scores = new Map<string, { metric: Metric; estimate: Estimate }>()
  const incomplete = new Set<string>()
  let reader = path.basename(folder)
  for (const cell of cells) {
    const run = await runOf(cell.run)
    if (run === undefined) continue
    reader = run.reader
    const score = run.scoreOf(cell)
    if (score === undefined) continue
    if (score.estimate.n > 0) scores.set(cellName(cell), score)
    if (run.done < run.items) incomplete.add(`${run.reader}: ${cellName(cell)}: ${run.done} of ${run.items} items so far`)
    else if (score.estimate.n === 0) incomplete.add(`${run.reader}: ${cellName(cell)}: no item could be asked`)
  }
  return { reader, scores, incomplete: [...incomplete] }
}

interface ReadRun {
  readonly reader: string
  readonly items: number
  readonly done: number
  /** Undefined if the run has no such setting. */
  readonly scoreOf: (cell: Cell) => { readonly metric: Metric; readonly estimate: Estimate } | undefined
}

async function readOne(folder: string): Promise<ReadRun | undefined> {
  if (!(await hasRun(folder))) return undefined
  const run = await readRunOf(folder)
  const { settings } = summariseTask(run.task, run)
  return {
    reader: run.manifest.subject.reader,
    items: run.manifest.data.items,
    done: run.records.length,
    scoreOf: (cell) => {
      const { metric: name, row } = cell
      const metric = [...run.task.metrics, ...(run.task.derived ?? [])].find((candidate) => candidate.name === name)
      if (metric === undefined) throw new CodedError('options_invalid', `The task ${run.task.name} has no score ${name}.`)
      // A cell's options identify the one setting of a task's run; questions are asked in the settings of several cells.
      const setting = run.task.name === OPEN_DOMAIN_QA ? settings.find((known) => known.setting === questionSetting(cell)) : settings[0]
      const [group] = Object.entries(row.group ?? {})
      const of = group === undefined ? setting : setting?.groups.find((known) => known.group === group[0] && known.value === group[1])
      const estimate = of?.scores[name]
      return estimate && { metric, estimate }
    },
  }
}

/** A reader's row of the table; undefined if it has none of its cells. */
function measuredRow(preset: Preset, row: Preset['rows'][number], { scores }: ReaderScores): string[] | undefined {
  const of = (column: string) => scores.get(cellName({ row, column: { name: column } }))
  const cells = preset.columns.map(({ name, mean_of: averaged }) => {
    if (averaged === undefined) {
      const score = of(name)
      return score === undefined ? '-' : shown(score.metric, score.estimate)
    }
    const parts = averaged.flatMap((part) => of(part) ?? [])
    const [first] = parts
    return first === undefined || parts.length < averaged.length
      ? '-'
      : mean(parts.map(({ estimate }) => estimate.mean)).toFixed(first.metric.digits)
  })
  return cells.every((cell) => cell === '-') ? undefined : cells
}
