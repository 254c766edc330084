import path from 'node:path'
import { at, present } from '../../base/at.ts'
import { closing } from '../../base/files.ts'
import { CodedError, type ErrorCode } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import type { AnswerClient } from '../client/client.ts'
import { connect, type ServiceOptions } from '../client/http.ts'
import type { ReaderClient } from '../client/reader.ts'
import { describeProblem } from '../datasets/question-set.ts'
import { toMarkdown } from '../report/blocks.ts'
import { writeReport } from '../report/report.ts'
import { OPEN_DOMAIN_QA, runsFolder } from '../run/folder.ts'
import { BeyondADay, costGate, type RunCommandOptions, type RunOptions } from '../run/follow.ts'
import { invalidOption, optionKey, optionValues, taskOptions } from '../run/options.ts'
import { runTask } from '../run/run-task.ts'
import { TASKS } from '../tasks/runs.ts'
import { askQuestions } from '../tasks/open-domain-qa/ask.ts'
import { parseOptions } from '../tasks/open-domain-qa/options.ts'
import type { EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'
import { identify } from '../tasks/open-domain-qa/record.ts'
import { type Cell, cellName, cellsOf, cellsOfModel, folderName, modelFolder, modeOf } from './cells.ts'
import { chooseModel, dataFiles, type Paper, type Preset, readPreset } from './read.ts'
import { type NotAsked, presetReport, readScores } from './report.ts'

/** Options of `cepe eval table`, `giraffe` and `pi`. */
export interface TableOptions extends RunCommandOptions, ServiceOptions {
  /** Folder of the data files. */
  readonly data?: string
  readonly columns?: string
  readonly limit?: string
  readonly as?: string
}

/**
 * Runs a table of a paper with the configured reader, and prints the published scores next to those of all measured readers.
 * @throws options_invalid if nothing can be asked
 */
export async function runTable(paper: Paper, number: string, given: TableOptions): Promise<void> {
  const { data, columns, limit, plan = false, out = runsFolder(`${paper}-${number}`) } = given
  const preset = readPreset(paper, number)
  if (preset.task !== OPEN_DOMAIN_QA && (given.url ?? given.key) !== undefined)
    throw invalidOption('--url and --key are for tables of questions: this one is measured with the configured reader.')
  const names = preset.columns.filter(({ mean_of: averaged }) => averaged === undefined).map(({ name }) => name)
  const asked = columns === undefined ? names : optionValues({ columns }).words('columns', names)
  const cells = cellsOf(preset, { limit, columns: asked, ...(data !== undefined && { pathOf: await dataFiles(data) }) })
  const isPlanAlone = plan && cells.every(({ missing }) => missing.length > 0)
  if (!isPlanAlone) checkFiles(preset, cells, data)
  const notAsked = isPlanAlone ? new Map<string, string>() : await askCells(preset, cells, { ...given, out })
  const report = presetReport(preset, { cells, readers: await readScores(out, preset, cells), notAsked })
  process.stdout.write(toMarkdown(report.blocks))
  if (!plan) await writeReport(report, out)
}

/** Checked before anything is loaded. @throws options_invalid if no cell has its files, with their sources */
function checkFiles(preset: Preset, cells: readonly Cell[], data: string | undefined): void {
  const sources = [...new Set(cells.flatMap(({ missing }) => missing))].map(
    (name) => `${name}: ${preset.files[name]?.what ?? ''}; ${preset.files[name]?.from ?? ''}`,
  )
  const message = `${data === undefined ? '--data is missing: the folder of' : `${data} has none of`} the data files of this table, each as .jsonl, .json, .parquet or .csv:\n${sources.map((source) => `- ${source}`).join('\n')}`
  if (cells.every(({ missing }) => missing.length > 0)) throw invalidOption(message)
  for (const source of sources) process.stderr.write(`Missing ${source}\n`)
}

/**
 * Measures the cost of all runs of the table, then asks them unless only the plan is wanted. A score belongs to the rows of the model alone
 * that the reader represents, and its run to that model's folder.
 */
async function askCells(
  preset: Preset,
  cells: readonly Cell[],
  { as, out, plan = false, yes, dumpPrompts = false, concurrency = 1, ...service }: TableOptions & { readonly out: string },
): Promise<NotAsked> {
  await using client = closing(
    preset.task === OPEN_DOMAIN_QA ? await connect(service, 'supplied') : await (await import('../client/reader.ts')).createReaderClient(),
  )
  const reader = await readerOf(client)
  const { name } = chooseModel(preset, reader, as)
  const folder = path.join(modelFolder(out, name), folderName(reader.id))
  const asked = { preset, client, dumpPrompts, concurrency, folder, cells: cellsOfModel(cells, name) }
  const onCost = costGate({ yes })
  const left = await runCells({ ...asked, follow: () => ({ planOnly: true, onCost }) })
  if (plan) return left
  const progress = createProgress(preset.title, 'answers')
  const follow = (cell: Cell): RunOptions => ({
    onProblem: (problem) => process.stderr.write(`${cellName(cell)}: ${describeProblem(problem)}\n`),
    onProgress: (done, total, time) => progress.update(done, total, `${cellName(cell)}${time && `, ${time}`}`),
  })
  return await runCells({ ...asked, follow }).finally(() => progress.stop())
}

/** The reader behind a client; a service names it only in an answer. */
async function readerOf(client: AnswerClient | ReaderClient) {
  if ('model' in client) return { id: client.model, hasEncoder: client.manifest.graphs.encoder !== null }
  const { reader } = await identify(client, modelProtocol(['closed-book'], [1], 'supplied', 1))
  return { id: reader, hasEncoder: client.hasEncoder }
}

interface RunCellsOptions {
  readonly preset: Pick<Preset, 'task'>
  readonly cells: readonly Cell[]
  /** The pipeline for questions, the reader for other tasks. */
  readonly client: AnswerClient | ReaderClient
  /** Folder of the reader's runs. */
  readonly folder: string
  readonly dumpPrompts: boolean
  readonly concurrency: number
  readonly follow: (cell: Cell) => RunOptions
}

/** Errors that concern one run only: its data, or a window too small for it. */
const RUN_CODES: readonly ErrorCode[] = ['options_invalid', 'dataset_invalid', 'nothing_scored']

/**
 * Asks for every run once, with its cells, or resumes it; questions are asked in all modes and k of a run's cells.
 * @returns the cells without a score, with reasons
 * @throws BeyondADay, disk_full, conflict, run_mismatch, and other errors that concern all runs
 */
export async function runCells({ preset, cells, client, folder, follow, ...asked }: RunCellsOptions): Promise<NotAsked> {
  const ask = async (first: Cell, members: readonly Cell[]): Promise<unknown> => {
    const run = { ...follow(first), folder: path.join(folder, first.run) }
    if (!('model' in client))
      return askQuestions({ client, ...run, ...asked, options: { ...evaluationOf(members), dumpPrompts: asked.dumpPrompts } })
    const task = present(TASKS.find(({ name }) => name === preset.task))
    return runTask({ client, ...run, dumpPrompts: asked.dumpPrompts, task, options: taskOptions(task, givenOptions(first)) })
  }
  const notAsked = new Map<string, string>()
  for (const run of new Set(cells.map((cell) => cell.run))) {
    const members = cells.filter((cell) => cell.run === run)
    const first = at(members, 0)
    const { missing } = first
    const leaveOut = (reason: string) => members.forEach((cell) => notAsked.set(cellName(cell), reason))
    if (missing.length > 0) leaveOut(`${missing.join(', ')} is not among the data files`)
    else
      await ask(first, members).catch((error: unknown) => {
        if (!(error instanceof CodedError) || error instanceof BeyondADay || !RUN_CODES.includes(error.code)) throw error
        leaveOut(error.message)
      })
  }
  return notAsked
}

/** Options as on a command line, with paths of files. */
function givenOptions({ options, files, paths }: Cell): Record<string, string> {
  const named = Object.entries(files).map(([option, name]) => [option, present(paths.get(name))] as const)
  return Object.fromEntries([...Object.entries(options), ...named].map(([option, value]) => [optionKey(`--${option}`), value]))
}

/** Options of a column's run: all modes and k of its cells, with each question's passages. @throws options_invalid */
function evaluationOf(cells: readonly Cell[]): EvaluationOptions {
  const first = at(cells, 0)
  const asked = cells.map(modeOf)
  const modes = [...new Set(asked.map(({ mode }) => mode))]
  const ksOf = (mode: string): number[] => asked.flatMap((setting) => (setting.mode === mode ? setting.k : [])).sort((a, b) => a - b)
  const given = { ...givenOptions(first), dataset: first.column.name, retrieval: 'supplied' }
  const options = parseOptions({ protocol: 'paper-exact', ...given, modes: modes.join(), k: asked.map(({ k }) => k).join() })
  return { ...options, protocol: { ...options.protocol, mode_ks: Object.fromEntries(modes.map((mode) => [mode, ksOf(mode)])) } }
}
