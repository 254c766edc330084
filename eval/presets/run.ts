import path from 'node:path'
import { at, present } from '../../base/at.ts'
import { CodedError, type ErrorCode } from '../../base/errors.ts'
import type { AnswerClient } from '../client/client.ts'
import { BeyondADay, type Cost } from '../runner/cost.ts'
import type { ReaderClient } from '../client/reader.ts'
import { type Cell, cellName } from './cells.ts'
import type { AskedReader, Preset } from './read.ts'
import { taskOptions } from '../task/options.ts'
import type { TaskManifest } from '../task/record.ts'
import { runTask } from '../task/run.ts'
import { TASKS } from '../tasks/list.ts'
import { evaluate } from '../tasks/open-domain-qa/ask.ts'
import { identify } from '../tasks/open-domain-qa/record.ts'
import { parseOptions } from '../tasks/open-domain-qa/options.ts'
import { type EvaluationOptions, prepare } from '../tasks/open-domain-qa/prepare.ts'
import { modelProtocol, type Protocol } from '../tasks/open-domain-qa/protocol.ts'
import { MODES } from '../../src/text/plan.ts'

/** Reasons for cells without a score, by cell name. */
export type NotAsked = Map<string, string>

interface RunOptions<Client> {
  readonly cells: readonly Cell[]
  readonly client: Client
  /** Folder of the reader's runs. */
  readonly folder: string
  readonly fileOf: FileOf
  readonly dumpPrompts: boolean
  readonly onProgress: (cell: Cell, done: number, total: number, left: string) => void
  readonly onCost?: ((cost: Cost) => void) | undefined
  readonly planOnly?: boolean | undefined
}

/** The path of a data file by its name in a preset; undefined if it is missing. */
export type FileOf = (name: string) => string | undefined

export interface RunCellsOptions extends RunOptions<ReaderClient> {
  readonly preset: Preset
  readonly onProblem: (cell: Cell, problem: TaskManifest['data']['problems'][number]) => void
}

export interface RunQuestionsOptions extends RunOptions<AnswerClient> {
  /** Concurrent questions. */
  readonly concurrency: number
}

/** Errors that concern one run only: its data, or a window too small for it. */
const RUN_CODES: readonly ErrorCode[] = ['options_invalid', 'dataset_invalid', 'nothing_scored']

/** Missing files of a cell. */
export function missingFiles({ files }: Cell, fileOf: FileOf): string[] {
  return Object.values(files).filter((name) => fileOf(name) === undefined)
}

/**
 * Asks for every run once, with its cells; cells of a run that cannot be asked are returned with the reason.
 * @throws BeyondADay, disk_full, conflict, run_mismatch, and other errors that concern all runs
 */
async function askRuns(
  { cells, fileOf }: Pick<RunOptions<unknown>, 'cells' | 'fileOf'>,
  ask: (first: Cell, members: readonly Cell[]) => Promise<unknown>,
): Promise<NotAsked> {
  const notAsked: NotAsked = new Map()
  for (const run of new Set(cells.map((cell) => cell.run))) {
    const members = cells.filter((cell) => cell.run === run)
    const first = at(members, 0)
    const missing = missingFiles(first, fileOf)
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

/** Runs every cell of a task, or resumes its run. @returns the cells without a score, with reasons @throws as `askRuns` */
export async function runCells({ preset, folder, onProblem, onProgress, ...asked }: RunCellsOptions): Promise<NotAsked> {
  const task = present(TASKS.find(({ name }) => name === preset.task))
  return askRuns(asked, (cell) =>
    runTask({
      ...asked,
      task,
      options: taskOptions(task, givenOptions(cell, asked.fileOf)),
      folder: path.join(folder, cell.run),
      onProblem: (problem) => onProblem(cell, problem),
      onProgress: (...progress) => onProgress(cell, ...progress),
    }),
  )
}

/**
 * Asks the questions of every column in all modes and k of its cells, one run per column.
 * @returns the cells without a score, with reasons
 * @throws as `askRuns`
 */
export async function runQuestions({ folder, onProgress, dumpPrompts, ...asked }: RunQuestionsOptions): Promise<NotAsked> {
  return askRuns(asked, async (first, members) => {
    const prepared = await prepare({ ...evaluationOf(members, asked.fileOf), dumpPrompts }, asked.client)
    await evaluate({
      ...asked,
      ...prepared,
      folder: path.join(folder, first.run),
      onProgress: (...progress) => onProgress(first, ...progress),
    })
  })
}

/** Options as on a command line, with paths of files. */
export function givenOptions({ options, files }: Cell, fileOf: FileOf): Record<string, string> {
  const named = Object.entries(files).map(([option, name]) => [option, present(fileOf(name))] as const)
  return Object.fromEntries([...Object.entries(options), ...named].map(([option, value]) => [camelCase(option), value]))
}

function camelCase(option: string): string {
  return option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The mode and k of a cell. */
export function modeOf({ row }: Cell): { readonly mode: Protocol['modes'][number]; readonly k: number } {
  const { modes, k } = row.options ?? {}
  const mode = MODES.find((name) => name === modes)
  return { mode: present(mode), k: Number(present(k)) }
}

/** Options of a column's run: all modes and k of its cells, with each question's passages. @throws options_invalid */
export function evaluationOf(cells: readonly Cell[], fileOf: FileOf): EvaluationOptions {
  const first = present(cells[0])
  const { protocol: name = 'paper-exact', seed = '0', limit } = first.options
  const { questions, train } = first.files
  const options = parseOptions({
    dataset: first.column.name,
    questions: present(fileOf(present(questions))),
    train: train === undefined ? undefined : present(fileOf(train)),
    k: '1',
    modes: 'cepe',
    encoderPassages: 'others',
    protocol: name,
    retrieval: 'supplied',
    recallDepth: '100',
    seed,
    limit,
  })
  const asked = cells.map(modeOf)
  const modes = [...new Set(asked.map(({ mode }) => mode))]
  const ksOf = (mode: string): number[] =>
    asked
      .filter((setting) => setting.mode === mode)
      .map(({ k }) => k)
      .sort((a, b) => a - b)
  return {
    ...options,
    protocol: {
      ...options.protocol,
      modes,
      ks: [...new Set(asked.map(({ k }) => k))].sort((a, b) => a - b),
      mode_ks: Object.fromEntries(modes.map((mode) => [mode, ksOf(mode)])),
    },
  }
}

/** The reader behind a client, from an answer, since a service names it only there. */
export async function readerOf(client: AnswerClient): Promise<AskedReader> {
  const protocol = modelProtocol(['closed-book'], [1], 'supplied', 1)
  const { reader } = await identify(client, protocol)
  return { id: reader, ...(client.hasEncoder !== undefined && { hasEncoder: client.hasEncoder }) }
}
