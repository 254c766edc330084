import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { mean } from '../../base/at.ts'
import { exists } from '../../base/exists.ts'
import { hasRun, OPEN_DOMAIN_QA } from '../run/folder.ts'
import { type Cell, cellName, cellsOfModel, modelFolder, publishedRow, publishedScore, questionSetting } from './cells.ts'
import { PAPERS, type Preset, type PresetRow } from './read.ts'
import { type Block, heading, list, table, text } from '../report/blocks.ts'
import { printedValue, type PublishedTables, readPublishedTables } from '../report/published-tables.ts'
import type { Report } from '../report/report.ts'
import type { Estimate } from '../statistics/bootstrap.ts'
import { readRunOf } from '../tasks/runs.ts'
import { shown, summariseTask } from '../run/summary.ts'
import { invalidOption, type Metric } from '../run/options.ts'

/** Reasons for cells without a score, by cell name. */
export type NotAsked = ReadonlyMap<string, string>

const FALLBACKS = { encoder: 'any model with an encoder', decoder: 'any model without one', any: 'any model' }

/** Report of a paper's table: published rows, each followed by measured scores, footnotes, and what could not be asked. */
export function presetReport(
  preset: Preset,
  { cells, readers, notAsked }: { cells: readonly Cell[]; readers: readonly ReaderScores[]; notAsked: NotAsked },
): Report {
  const published = readPublishedTables(preset.paper)
  const title = `${PAPERS[preset.paper]}, Table ${preset.table}: ${preset.title}`
  const known = published.tables[preset.table]
  const footnotes = published.doubtful.filter((entry) => entry.table === preset.table).map(({ cell, why }) => `Footnote, ${cell}: ${why}.`)
  const missing = [...notAsked].map(([cell, why]) => `${cell}: ${why}`)
  const left = [...missing, ...readers.flatMap(({ incomplete }) => incomplete)]
  return {
    title,
    blocks: [
      heading(1, title),
      text(known === undefined ? `${published.source}.` : `Published: ${known.what} (${published.source}).`),
      scoresTable(preset, known?.rows ?? [], readers),
      list([
        "Published scores are of 16-bit weights; a reader's id names its precision. Measured scores have 95 % intervals.",
        ...readers.flatMap(itemsText),
        ...preset.notes,
        ...footnotes,
      ]),
      ...(left.length === 0 ? [] : [heading(2, 'Not asked'), list(left)]),
      heading(2, 'Models'),
      table(
        ['model', 'checkpoint', 'also for'],
        preset.models.map(({ name, checkpoints, fallback }) => [
          name,
          checkpoints.length === 0 ? '- (--as)' : checkpoints.join(', '),
          fallback === undefined ? '' : FALLBACKS[fallback],
        ]),
        3,
      ),
      heading(2, 'Data files'),
      table(
        ['file', 'there', 'what', 'from'],
        [...new Map(cells.flatMap(({ paths }) => [...paths]))].map(([name, file]) => {
          const { what = '', from = '' } = preset.files[name] ?? {}
          return [name, file === undefined ? 'missing' : path.basename(file), what, from]
        }),
        4,
      ),
    ],
  }
}

/** For each row the published scores, then those of every reader. */
function scoresTable(preset: Preset, rows: PublishedTables['tables'][string]['rows'], readers: readonly ReaderScores[]): Block {
  const labels = [...new Set(preset.rows.flatMap(({ label }) => Object.keys(label)))]
  const columns = preset.columns.map(({ name }) => name)
  const further = [...new Set(preset.rows.flatMap((row) => Object.keys(publishedRow(rows, row) ?? {})))].filter(
    (field) => ![...labels, ...columns, 'perplexity_above', 'oracle'].includes(field),
  )
  const body = preset.rows.flatMap((row) => {
    const label = labels.map((field) => printedValue(row.label[field]) ?? '')
    const printed = [
      ...columns.map((column) => publishedScore(rows, row, column) ?? '-'),
      ...further.map((field) => printedValue(publishedRow(rows, row)?.[field]) ?? '-'),
    ]
    const measured = readers.flatMap((reader) => {
      const cells = measuredRow(preset, row, reader)
      return cells.every((cell) => cell === '-') ? [] : [[...label, reader.reader, ...cells, ...further.map(() => '-')]]
    })
    return printed.every((cell) => cell === '-') && measured.length > 0 ? measured : [[...label, 'published', ...printed], ...measured]
  })
  return table([...labels, 'scores', ...columns, ...further], body, labels.length + 1)
}

/** How many items a reader's scores are of. */
function itemsText({ reader, scores }: ReaderScores): string[] {
  const counts = [...scores.values()].map(({ estimate }) => estimate.n)
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  return counts.length === 0 ? [] : [`${reader}: each score is of ${least === most ? least : `${least} to ${most}`} items.`]
}

function measuredRow(preset: Preset, row: PresetRow, { scores }: ReaderScores): string[] {
  const of = (column: string) => scores.get(cellName({ row, column: { name: column } }))
  return preset.columns.map(({ name, mean_of: averaged }) => {
    const parts = (averaged ?? [name]).flatMap((part) => of(part) ?? [])
    const [first] = parts
    if (first === undefined || parts.length < (averaged ?? [name]).length) return '-'
    return averaged === undefined
      ? shown(first.metric, first.estimate)
      : mean(parts.map(({ estimate }) => estimate.mean)).toFixed(first.metric.digits)
  })
}

interface Score {
  readonly metric: Metric
  readonly estimate: Estimate
}
type ReaderScores = Awaited<ReturnType<typeof scoresOf>>

/** Scores of all readers with runs in the folder, by the model of the table that each was asked for, then by name. */
export async function readScores(out: string, preset: Preset, cells: readonly Cell[]): Promise<ReaderScores[]> {
  const read = await Promise.all(
    preset.models.map(async ({ name }) => {
      const folder = modelFolder(out, name)
      const entries = (await exists(folder)) ? await readdir(folder, { withFileTypes: true }) : []
      const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(folder, entry.name))
      return Promise.all(folders.sort().map((reader) => scoresOf(reader, cellsOfModel(cells, name))))
    }),
  )
  return read.flat().filter(({ scores, incomplete }) => scores.size > 0 || incomplete.length > 0)
}

/** Scores of one reader by cell name, and its cells with an incomplete run or without scored items. */
async function scoresOf(folder: string, cells: readonly Cell[]) {
  const runs = new Map<string, Awaited<ReturnType<typeof readOne>>>()
  for (const name of new Set(cells.map(({ run }) => run))) runs.set(name, await readOne(path.join(folder, name)))
  const scores = new Map<string, Score>()
  const incomplete = new Set<string>()
  let reader = path.basename(folder)
  for (const cell of cells) {
    const run = runs.get(cell.run)
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

/** Undefined for a folder without a run. */
async function readOne(folder: string) {
  if (!(await hasRun(folder))) return undefined
  const run = await readRunOf(folder)
  const { settings } = summariseTask(run.task, run)
  return {
    reader: run.manifest.subject.reader,
    items: run.manifest.data.items,
    done: run.records.length,
    /** Undefined if the run has no such setting. */
    scoreOf: (cell: Cell): Score | undefined => {
      const { metric: name, row } = cell
      const metric = [...run.task.metrics, ...(run.task.derived ?? [])].find((candidate) => candidate.name === name)
      if (metric === undefined) throw invalidOption(`The task ${run.task.name} has no score ${name}.`)
      // A cell's options identify the one setting of a task's run; questions are asked in the settings of several cells.
      const setting = run.task.name === OPEN_DOMAIN_QA ? settings.find((known) => known.setting === questionSetting(cell)) : settings[0]
      const [group] = Object.entries(row.group ?? {})
      const of = group === undefined ? setting : setting?.groups.find((known) => known.group === group[0] && known.value === group[1])
      const estimate = of?.scores[name]
      return estimate && { metric, estimate }
    },
  }
}
