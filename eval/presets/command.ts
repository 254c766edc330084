import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { packageRoot } from '../../src/config.ts'
import type { AnswerClient } from '../client/client.ts'
import { describeProblem } from '../datasets/question-set.ts'
import { OPEN_DOMAIN_QA } from '../runner/folder.ts'
import { costGate } from '../runner/follow.ts'
import { toMarkdown } from '../report/blocks.ts'
import { readPublishedTables } from '../report/published-tables.ts'
import { writeReport } from '../report/report.ts'
import { cellName, cellsOf, cellsOfModel, folderName, modelFolder, type Cell } from './cells.ts'
import { chooseModel, dataFiles, type Paper, type Preset, readPreset } from './read.ts'
import { type FileOf, missingFiles, type NotAsked, readerOf, runCells, type RunCellsOptions } from './run.ts'
import { presetReport, readScores } from './report.ts'

/** Options of `cepe eval table`, `giraffe` and `pi`. */
export interface TableOptions {
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
  readonly concurrency?: number
}

interface Asking {
  readonly preset: Preset
  readonly cells: readonly Cell[]
  readonly out: string
  readonly fileOf: FileOf
  readonly given: TableOptions
  /** Connects to the pipeline for questions with passages, in this process or over HTTP. */
  readonly connect: () => Promise<AnswerClient>
}

/**
 * Runs a table of a paper with the configured reader, and prints the published scores next to those of all measured readers.
 * @throws options_invalid if nothing can be asked
 */
export async function runTable(paper: Paper, number: string, given: TableOptions, connect: Asking['connect']): Promise<void> {
  const preset = await readPreset(paper, number)
  const cells = cellsOf(preset, { ...wantedColumns(preset, given.columns), ...(given.limit !== undefined && { limit: given.limit }) })
  const out = given.out ?? path.join(packageRoot(), 'eval', 'runs', `${paper}-${number}`)
  const fileOf = given.data === undefined ? () => undefined : await dataFiles(given.data)
  const isPlanAlone = given.plan === true && cells.every((cell) => missingFiles(cell, fileOf).length > 0)
  const notAsked = isPlanAlone ? new Map<string, string>() : await askCells({ preset, cells, out, fileOf, given, connect })
  const published = await readPublishedTables(paper)
  const report = presetReport(preset, { cells, published, readers: await readScores(out, preset, cells), notAsked, fileOf })
  process.stdout.write(toMarkdown(report.blocks))
  if (given.plan !== true) await writeReport(report, out)
}

function wantedColumns({ columns }: Preset, given: string | undefined): { readonly columns?: readonly string[] } {
  if (given === undefined) return {}
  const names = columns.filter(({ mean_of: averaged }) => averaged === undefined).map(({ name }) => name)
  const wanted = given.split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new CodedError('options_invalid', `--columns takes ${names.join(', ')}, not ${JSON.stringify(unknown)}.`)
  return { columns: wanted }
}

/**
 * Measures the cost of all runs of the table, then asks them unless only the plan is wanted. A score belongs to the rows of the model alone
 * that the reader represents, and its run to that model's folder.
 */
async function askCells({ preset, cells, out, fileOf, given, connect }: Asking): Promise<NotAsked> {
  checkFiles(preset, cells, fileOf, given.data)
  const { plan = false, dumpPrompts = false, concurrency = 1 } = given
  const client = preset.task === OPEN_DOMAIN_QA ? await connect() : await (await import('../client/reader.ts')).createReaderClient()
  const progress = createProgress(preset.title, 'answers')
  try {
    const reader = await readerOf(client)
    const { name } = chooseModel(preset, reader, given.as)
    const folder = path.join(modelFolder(out, name), folderName(reader.id))
    const asked = { preset, client, fileOf, dumpPrompts, concurrency, folder, cells: cellsOfModel(cells, name) }
    const onCost = costGate(given)
    const left = await runCells({ ...asked, follow: () => ({ planOnly: true, onCost }) })
    if (plan) return left
    const follow: RunCellsOptions['follow'] = (cell) => ({
      onProblem: (problem) => process.stderr.write(`${cellName(cell)}: ${describeProblem(problem)}\n`),
      onProgress: (done, total, time) => progress.update(done, total, `${cellName(cell)}${time && `, ${time}`}`),
    })
    return await runCells({ ...asked, follow })
  } finally {
    progress.stop()
    await client.close()
  }
}

/** Checked before anything is loaded. @throws options_invalid if no cell has its files, with their sources */
function checkFiles(preset: Preset, cells: readonly Cell[], fileOf: FileOf, data: string | undefined): void {
  const missing = [...new Set(cells.flatMap((cell) => missingFiles(cell, fileOf)))]
  const sources = missing.map((name) => `${name}: ${preset.files[name]?.what ?? ''}; ${preset.files[name]?.from ?? ''}`)
  if (cells.every((cell) => missingFiles(cell, fileOf).length > 0))
    throw new CodedError(
      'options_invalid',
      `${data === undefined ? '--data is missing: the folder of' : `${data} has none of`} the data files of this table, each as .jsonl, .json, .parquet or .csv:\n${sources.map((source) => `- ${source}`).join('\n')}`,
    )
  for (const source of sources) process.stderr.write(`Missing ${source}\n`)
}
