import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { packageRoot } from '../../src/config.ts'
import type { AnswerClient } from '../client/client.ts'
import { describeProblem } from '../datasets/problems.ts'
import { toMarkdown } from '../report/blocks.ts'
import { readPublishedTables } from '../report/published-tables.ts'
import { writeReport } from '../report/report.ts'
import { cellName, cellsOf, cellsOfModel, folderName, modelFolder, OPEN_DOMAIN_QA, type Cell } from './cells.ts'
import { dataFiles } from './files.ts'
import { chooseModel, type AskedReader } from './model.ts'
import { readerOf, runQuestions } from './questions.ts'
import { readPreset } from './read.ts'
import { presetReport } from './report.ts'
import { missingFiles, runCells, type NotAsked } from './run.ts'
import { readScores } from './scores.ts'
import type { Preset } from './schema.ts'

/** Options of `cepe eval --table` and `--giraffe`. */
export interface PresetOptions {
  readonly table?: string
  readonly giraffe?: string
  /** Folder of the data files. */
  readonly data?: string
  readonly columns?: string
  readonly limit?: string | undefined
  readonly as?: string
  /** Only shows the plan. */
  readonly plan?: boolean
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
  const preset = await (given.table === undefined ? readPreset('giraffe', given.giraffe ?? '') : readPreset('cepe', given.table))
  const cells = cellsOf(preset, { ...wantedColumns(preset, given.columns), ...(given.limit !== undefined && { limit: given.limit }) })
  const out = given.out ?? path.join(packageRoot(), 'eval', 'runs', `${preset.paper}-${preset.table}`)
  const fileOf = given.data === undefined ? () => undefined : await dataFiles(given.data)
  const notAsked = given.plan === true ? new Map<string, string>() : await askCells({ preset, cells, out, fileOf, given, connect })
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

async function askCells(asking: Asking): Promise<NotAsked> {
  checkFiles(asking)
  const { preset } = asking
  const progress = createProgress(preset.title, 'items')
  const onProgress = (cell: Cell, done: number, total: number) => progress.update(done, total, cellName(cell))
  try {
    return await (preset.task === OPEN_DOMAIN_QA ? askQuestions(asking, onProgress) : askTask(asking, onProgress))
  } finally {
    progress.stop()
  }
}

type OnProgress = (cell: Cell, done: number, total: number) => void

async function askTask(asking: Asking, onProgress: OnProgress): Promise<NotAsked> {
  const { preset, fileOf, given } = asking
  const { createReaderClient } = await import('../client/reader.ts')
  const client = await createReaderClient()
  try {
    const reader = { id: client.model, hasEncoder: client.manifest.graphs.encoder !== null }
    return await runCells({
      preset,
      ...asModel(asking, reader),
      client,
      fileOf,
      dumpPrompts: given.dumpPrompts ?? false,
      onProblem: (cell, problem) => process.stderr.write(`${cellName(cell)}: ${describeProblem(problem)}\n`),
      onProgress,
    })
  } finally {
    await client.close()
  }
}

async function askQuestions(asking: Asking, onProgress: OnProgress): Promise<NotAsked> {
  const { fileOf, given } = asking
  const client = await asking.connect()
  try {
    const reader = await readerOf(client)
    return await runQuestions({
      ...asModel(asking, reader),
      client,
      fileOf,
      dumpPrompts: given.dumpPrompts ?? false,
      concurrency: given.concurrency,
      onProgress,
    })
  } finally {
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
