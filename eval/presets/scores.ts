import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { readRun } from '../tasks/open-domain-qa/run.ts'
import { summarise } from '../tasks/open-domain-qa/summary.ts'
import { mean, type Estimate } from '../statistics/bootstrap.ts'
import { readRunOf } from '../task/read.ts'
import { shown, summariseTask } from '../task/summary.ts'
import type { Metric } from '../task/parts.ts'
import { cellName, cellsOfModel, modelFolder, OPEN_DOMAIN_QA, type Cell } from './cells.ts'
import { modeOf } from './questions.ts'
import type { Preset } from './schema.ts'

const EXACT_MATCH: Metric = { name: 'exact_match', label: 'exact match (%)', aggregate: 'percent', digits: 2 }

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
  const read = await Promise.all(preset.models.map(({ name }) => scoresIn(modelFolder(out, name), preset, cellsOfModel(cells, name))))
  return read.flat()
}

async function scoresIn(folder: string, preset: Preset, cells: readonly Cell[]): Promise<ReaderScores[]> {
  if (!(await exists(folder))) return []
  const entries = await readdir(folder, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name))
  const read = await Promise.all(folders.sort().map((reader) => scoresOf(reader, preset, cells)))
  return read.filter(({ scores, incomplete }) => scores.size > 0 || incomplete.length > 0)
}

async function scoresOf(folder: string, preset: Preset, cells: readonly Cell[]): Promise<ReaderScores> {
  const runs = new Map<string, Promise<ReadRun | undefined>>()
  const runOf = (run: string): Promise<ReadRun | undefined> => {
    const known = runs.get(run) ?? readOne(path.join(folder, run), preset)
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

async function readOne(folder: string, { task }: Preset): Promise<ReadRun | undefined> {
  if (!(await exists(path.join(folder, 'manifest.json')))) return undefined
  return task === OPEN_DOMAIN_QA ? readQuestions(folder) : readTask(folder)
}

async function readTask(folder: string): Promise<ReadRun> {
  const run = await readRunOf(folder)
  const { settings } = summariseTask(run.task, run)
  return {
    reader: run.manifest.subject.reader,
    items: run.manifest.data.items,
    done: run.records.length,
    scoreOf: ({ metric: name }) => {
      const metric = run.task.metrics.find((candidate) => candidate.name === name)
      if (metric === undefined) throw new CodedError('options_invalid', `The task ${run.task.name} has no score ${name}.`)
      // A cell's options identify one setting.
      const estimate = settings[0]?.scores[name]
      return estimate && { metric, estimate }
    },
  }
}

async function readQuestions(folder: string): Promise<ReadRun> {
  const { manifest, records } = await readRun(folder)
  const { settings } = summarise(manifest, records)
  return {
    reader: manifest.subject.reader,
    items: manifest.data.answerable,
    done: records.length,
    scoreOf: (cell) => {
      const { mode, k } = modeOf(cell)
      const found = settings.find((setting) => setting.method === mode && setting.k === k)?.exactMatch
      const estimate = found && { mean: 100 * found.mean, low: 100 * found.low, high: 100 * found.high, n: found.n }
      return estimate && { metric: EXACT_MATCH, estimate }
    },
  }
}

/** A reader's row of the table; undefined if it has none of its cells. */
export function measuredRow(preset: Preset, row: Preset['rows'][number], { scores }: ReaderScores): string[] | undefined {
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
