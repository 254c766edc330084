import path from 'node:path'
import { at, present } from '../../base/at.ts'
import { CodedError, type ErrorCode } from '../../base/errors.ts'
import { MODES } from '../../src/text/plan.ts'
import type { AnswerClient } from '../client/client.ts'
import type { ReaderClient } from '../client/reader.ts'
import { BeyondADay, type RunOptions } from '../runner/follow.ts'
import { taskOptions } from '../task/options.ts'
import { runTask } from '../task/run.ts'
import { TASKS } from '../tasks/list.ts'
import { askQuestions } from '../tasks/open-domain-qa/ask.ts'
import { parseOptions } from '../tasks/open-domain-qa/options.ts'
import type { EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { modelProtocol, settingName } from '../tasks/open-domain-qa/protocol.ts'
import { identify } from '../tasks/open-domain-qa/record.ts'
import { type Cell, cellName } from './cells.ts'
import type { AskedReader, Preset } from './read.ts'

/** Reasons for cells without a score, by cell name. */
export type NotAsked = Map<string, string>

/** The path of a data file by its name in a preset; undefined if it is missing. */
export type FileOf = (name: string) => string | undefined

export interface RunCellsOptions {
  readonly preset: Pick<Preset, 'task'>
  readonly cells: readonly Cell[]
  /** The pipeline for questions, the reader for other tasks. */
  readonly client: AnswerClient | ReaderClient
  /** Folder of the reader's runs. */
  readonly folder: string
  readonly fileOf: FileOf
  readonly dumpPrompts: boolean
  /** Concurrent questions. */
  readonly concurrency: number
  readonly follow: (cell: Cell) => RunOptions
}

/** Errors that concern one run only: its data, or a window too small for it. */
const RUN_CODES: readonly ErrorCode[] = ['options_invalid', 'dataset_invalid', 'nothing_scored']

/** Missing files of a cell. */
export function missingFiles({ files }: Cell, fileOf: FileOf): string[] {
  return Object.values(files).filter((name) => fileOf(name) === undefined)
}

/**
 * Asks for every run once, with its cells, or resumes it; questions are asked in all modes and k of a run's cells.
 * @returns the cells without a score, with reasons
 * @throws BeyondADay, disk_full, conflict, run_mismatch, and other errors that concern all runs
 */
export async function runCells({ preset, cells, client, folder, fileOf, follow, ...asked }: RunCellsOptions): Promise<NotAsked> {
  const ask = async (first: Cell, members: readonly Cell[]): Promise<unknown> => {
    const run = { ...follow(first), folder: path.join(folder, first.run) }
    if (!('model' in client))
      return askQuestions({ client, ...run, ...asked, options: { ...evaluationOf(members, fileOf), dumpPrompts: asked.dumpPrompts } })
    const task = present(TASKS.find(({ name }) => name === preset.task))
    return runTask({ client, ...run, dumpPrompts: asked.dumpPrompts, task, options: taskOptions(task, givenOptions(first, fileOf)) })
  }
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

/** Options as on a command line, with paths of files. */
function givenOptions({ options, files }: Cell, fileOf: FileOf): Record<string, string> {
  const named = Object.entries(files).map(([option, name]) => [option, present(fileOf(name))] as const)
  const camelCase = (option: string) => option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries([...Object.entries(options), ...named].map(([option, value]) => [camelCase(option), value]))
}

/** The setting of a cell in a run of questions. */
export function questionSetting(cell: Cell): string {
  const { mode, k } = modeOf(cell)
  return settingName({ method: mode, k })
}

function modeOf({ row }: Cell) {
  const { modes, k } = row.options ?? {}
  const mode = MODES.find((name) => name === modes)
  return { mode: present(mode), k: Number(present(k)) }
}

/** Options of a column's run: all modes and k of its cells, with each question's passages. @throws options_invalid */
function evaluationOf(cells: readonly Cell[], fileOf: FileOf): EvaluationOptions {
  const first = at(cells, 0)
  const asked = cells.map(modeOf)
  const modes = [...new Set(asked.map(({ mode }) => mode))]
  const ksOf = (mode: string): number[] => asked.flatMap((setting) => (setting.mode === mode ? setting.k : [])).sort((a, b) => a - b)
  const given = { ...givenOptions(first, fileOf), dataset: first.column.name, retrieval: 'supplied' }
  const options = parseOptions({ protocol: 'paper-exact', ...given, modes: modes.join(), k: asked.map(({ k }) => k).join() })
  return { ...options, protocol: { ...options.protocol, mode_ks: Object.fromEntries(modes.map((mode) => [mode, ksOf(mode)])) } }
}

/** The reader behind a client; a service names it only in an answer. */
export async function readerOf(client: AnswerClient | ReaderClient): Promise<AskedReader> {
  if ('model' in client) return { id: client.model, hasEncoder: client.manifest.graphs.encoder !== null }
  const { reader } = await identify(client, modelProtocol(['closed-book'], [1], 'supplied', 1))
  return { id: reader, ...(client.hasEncoder !== undefined && { hasEncoder: client.hasEncoder }) }
}
