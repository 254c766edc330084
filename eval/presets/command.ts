import path from 'node:path'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { packageRoot } from '../../src/config.ts'
import type { AnswerClient } from '../client/client.ts'
import { describeProblem } from '../datasets/question-set.ts'
import { OPEN_DOMAIN_QA } from '../runner/folder.ts'
import { costGate } from '../runner/cost.ts'
import { toMarkdown } from '../report/blocks.ts'
import { readPublishedTables } from '../report/published-tables.ts'
import { writeReport } from '../report/report.ts'
import { cellName, cellsOf, cellsOfModel, folderName, modelFolder, type Cell } from './cells.ts'
import { type AskedReader, chooseModel, dataFiles, type Paper, type Preset, readPreset } from './read.ts'
import { missingFiles, type NotAsked, readerOf, runCells, type RunCellsOptions, runQuestions } from './run.ts'
import { presetReport, readScores } from './report.ts'

/** Options of `cepe eval --table`, `--giraffe` and `--pi`. */
export interface PresetOptions {
  readonly table?: string
  readonly giraffe?: string
  readonly pi?: string
  /** Folder of the data files. */
  readonly data?: string
  readonly columns?: string
  readonly limit?: string | undefined
  readonly as?: string
  /** Only shows the plan; with `data` also the cost. */
  readonly plan?: boolean
  readonly yes?: boolean
  readonly dumpPrompts?: boolean
  readonly out?: string
  /** Concurrent questions. */
  readonly concurrency: number
}

/** Connects to the pipeline for questions with passages, in this process or over HTTP. */
export type Connect = () => Promise<AnswerClient>

/**
 * `cepe eval --table <number>`: runs a table of a paper with the configured reader, and prints published scores beside those of every
 * reader measured so far.
 * @throws options_invalid if nothing can be asked
 */
export async function runPreset(given: PresetOptions, connect: Connect): Promise<void> {
  const preset = await readPreset(...at(tablesOf(given), 0))
  const cells = cellsOf(preset, { ...wantedColumns(preset, given.columns), ...(given.limit !== undefined && { limit: given.limit }) })
  const out = given.out ?? path.join(packageRoot(), 'eval', 'runs', `${preset.paper}-${preset.table}`)
  const fileOf = given.data === undefined ? () => undefined : await dataFiles(given.data)
  const asking = { preset, cells, out, fileOf, given, connect }
  const isPlanAlone = given.plan === true && cells.every((cell) => missingFiles(cell, fileOf).length > 0)
  const notAsked = isPlanAlone ? new Map<string, string>() : await askCells(asking)
  const report = presetReport(preset, {
    cells,
    published: await readPublishedTables(preset.paper),
    readers: await readScores(out, preset, cells),
    notAsked,
    fileOf,
  })
  process.stdout.write(toMarkdown(report.blocks))
  if (given.plan === true) return
  await writeReport(report, out)
  process.stderr.write(`Report: ${path.join(out, 'report.md')} and report.html\n`)
}

/** The tables that are named. */
export function tablesOf({ table, giraffe, pi }: Pick<PresetOptions, 'table' | 'giraffe' | 'pi'>): [paper: Paper, table: string][] {
  const named: readonly (readonly [Paper, string | undefined])[] = [
    ['cepe', table],
    ['giraffe', giraffe],
    ['pi', pi],
  ]
  return named.flatMap(([paper, number]) => (number === undefined ? [] : [[paper, number]]))
}

function wantedColumns({ columns }: Preset, given: string | undefined): { readonly columns?: readonly string[] } {
  if (given === undefined) return {}
  const names = columns.filter(({ mean_of: averaged }) => averaged === undefined).map(({ name }) => name)
  const wanted = given.split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new CodedError('options_invalid', `--columns takes ${names.join(', ')}, not ${JSON.stringify(unknown)}.`)
  return { columns: wanted }
}

interface Asking {
  readonly preset: Preset
  readonly cells: readonly Cell[]
  readonly out: string
  readonly fileOf: (name: string) => string | undefined
  readonly given: PresetOptions
  readonly connect: Connect
}

/** Measures the cost of all runs of the table, then asks them unless only the plan is wanted. */
async function askCells(asking: Asking): Promise<NotAsked> {
  checkFiles(asking)
  const { preset, fileOf, given } = asking
  const { plan, dumpPrompts = false, concurrency } = given
  const client = preset.task === OPEN_DOMAIN_QA ? await asking.connect() : await (await import('../client/reader.ts')).createReaderClient()
  const progress = createProgress(preset.title, 'answers')
  const onProblem: RunCellsOptions['onProblem'] = (cell, problem) =>
    process.stderr.write(`${cellName(cell)}: ${describeProblem(problem)}\n`)
  try {
    const reader = 'model' in client ? { id: client.model, hasEncoder: client.manifest.graphs.encoder !== null } : await readerOf(client)
    const common = { ...asModel(asking, reader), fileOf, dumpPrompts }
    const pass = (given: Pick<RunCellsOptions, 'onCost' | 'planOnly' | 'onProgress'>) =>
      'model' in client
        ? runCells({ ...common, ...given, preset, client, onProblem: given.planOnly ? () => undefined : onProblem })
        : runQuestions({ ...common, ...given, client, concurrency })
    const left = await pass({ planOnly: true, onCost: costGate(given), onProgress: () => undefined })
    if (plan === true) return left
    return await pass({ onProgress: (cell, done, total, time) => progress.update(done, total, `${cellName(cell)}${time && `, ${time}`}`) })
  } finally {
    progress.stop()
    await client.close()
  }
}

/** The cells of the model that the reader represents, and the folder of its runs: a score belongs to that model's rows alone. */
function asModel({ preset, cells, out, given }: Asking, reader: AskedReader): { readonly cells: Cell[]; readonly folder: string } {
  const { name } = chooseModel(preset, reader, given.as)
  return { cells: cellsOfModel(cells, name), folder: path.join(modelFolder(out, name), folderName(reader.id)) }
}

/** Checked before anything is loaded. @throws options_invalid if no cell has its files, with their sources */
function checkFiles({ preset, cells, fileOf, given }: Asking): void {
  const missing = [...new Set(cells.flatMap((cell) => missingFiles(cell, fileOf)))]
  const sources = missing.map((name) => `${name}: ${preset.files[name]?.what ?? ''}; ${preset.files[name]?.from ?? ''}`)
  if (cells.every((cell) => missingFiles(cell, fileOf).length > 0))
    throw new CodedError(
      'options_invalid',
      `${given.data === undefined ? '--data is missing: the folder of' : `${given.data} has none of`} the data files of this table, each as .jsonl, .json, .parquet or .csv:\n${sources.map((source) => `- ${source}`).join('\n')}`,
    )
  for (const source of sources) process.stderr.write(`Missing ${source}\n`)
}
