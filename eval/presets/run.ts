import path from 'node:path'
import { present } from '../../base/at.ts'
import { CodedError, type ErrorCode } from '../../base/errors.ts'
import type { ReaderClient } from '../client/reader.ts'
import type { TaskManifest } from '../task/record.ts'
import { taskOptions } from '../task/options.ts'
import { runTask } from '../task/run.ts'
import { TASKS } from '../tasks/list.ts'
import { cellName, type Cell } from './cells.ts'
import type { Preset } from './schema.ts'

/** Reasons for cells without a score, by cell name. */
export type NotAsked = Map<string, string>

export interface RunCellsOptions {
  readonly preset: Preset
  readonly cells: readonly Cell[]
  readonly client: ReaderClient
  /** Folder of the reader's runs. */
  readonly folder: string
  readonly fileOf: (name: string) => string | undefined
  readonly dumpPrompts: boolean
  readonly onProblem: (cell: Cell, problem: TaskManifest['data']['problems'][number]) => void
  readonly onProgress: (cell: Cell, done: number, total: number) => void
}

/** Errors that concern one cell only: its data, or a window too small for it. */
const CELL_CODES: readonly ErrorCode[] = ['options_invalid', 'dataset_invalid', 'nothing_scored']

/** Missing files of a cell. */
export function missingFiles({ files }: Cell, fileOf: RunCellsOptions['fileOf']): string[] {
  return Object.values(files).filter((name) => fileOf(name) === undefined)
}

/**
 * Runs every cell, or resumes its run; cells that cannot be asked are returned with the reason.
 * @throws disk_full, conflict, run_mismatch, and other errors that concern all cells
 */
export async function runCells({
  preset,
  cells,
  client,
  folder,
  fileOf,
  dumpPrompts,
  onProblem,
  onProgress,
}: RunCellsOptions): Promise<NotAsked> {
  const task = present(TASKS.find(({ name }) => name === preset.task))
  const failed = new Map<string, string>()
  const notAsked: NotAsked = new Map()
  const asked = new Set<string>()
  for (const cell of cells) {
    const missing = missingFiles(cell, fileOf)
    const before = failed.get(cell.run)
    if (missing.length > 0 || before !== undefined) {
      notAsked.set(cellName(cell), before ?? `${missing.join(', ')} is not among the data files`)
      continue
    }
    if (asked.has(cell.run)) continue
    try {
      await runTask({
        task,
        options: taskOptions(task, givenOptions(cell, fileOf)),
        client,
        dumpPrompts,
        folder: path.join(folder, cell.run),
        onProblem: (problem) => onProblem(cell, problem),
        onProgress: (done, total) => onProgress(cell, done, total),
      })
      asked.add(cell.run)
    } catch (error) {
      if (!(error instanceof CodedError) || !CELL_CODES.includes(error.code)) throw error
      failed.set(cell.run, error.message)
      notAsked.set(cellName(cell), error.message)
    }
  }
  return notAsked
}

/** Options as on a command line, with paths of files. */
export function givenOptions({ options, files }: Cell, fileOf: RunCellsOptions['fileOf']): Record<string, string> {
  const named = Object.entries(files).map(([option, name]) => [option, present(fileOf(name))] as const)
  return Object.fromEntries([...Object.entries(options), ...named].map(([option, value]) => [camelCase(option), value]))
}

function camelCase(option: string): string {
  return option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
