import path from 'node:path'
import { present } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { MODES } from '../../src/text/plan.ts'
import type { AnswerClient } from '../client/client.ts'
import { parseOptions } from '../tasks/open-domain-qa/options.ts'
import { prepare, type EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { evaluate } from '../tasks/open-domain-qa/evaluate.ts'
import { identify } from '../tasks/open-domain-qa/manifest.ts'
import { PAPER_PROTOCOL, type Protocol } from '../tasks/open-domain-qa/protocol.ts'
import { cellName, type Cell } from './cells.ts'
import type { AskedReader } from './model.ts'
import { missingFiles, type NotAsked, type RunCellsOptions } from './run.ts'

export type RunQuestionsOptions = Pick<RunCellsOptions, 'cells' | 'folder' | 'fileOf' | 'dumpPrompts' | 'onProgress'> & {
  readonly client: AnswerClient
  /** Concurrent questions. */
  readonly concurrency: number
}

/** The mode and k of a cell. */
export function modeOf({ row }: Cell): { readonly mode: Protocol['modes'][number]; readonly k: number } {
  const { modes, k } = row.options ?? {}
  const mode = MODES.find((name) => name === modes)
  return { mode: present(mode), k: Number(present(k)) }
}

/** Options of a column's run: all modes and k of its cells, with each question's passages. @throws options_invalid */
export function evaluationOf(cells: readonly Cell[], fileOf: RunCellsOptions['fileOf']): EvaluationOptions {
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
  const protocol: Protocol = {
    ...PAPER_PROTOCOL,
    modes: ['closed-book'],
    ks: [1],
    encoder_passages: ['others'],
    retrieval: 'supplied',
    recall_depth: 1,
    seed: 0,
  }
  const { reader } = await identify(client, protocol)
  return { id: reader, ...(client.hasEncoder !== undefined && { hasEncoder: client.hasEncoder }) }
}

/**
 * Asks the questions of every column in all modes and k of its cells, one run per column.
 * @returns the cells without a score, with reasons
 */
export async function runQuestions({
  cells,
  client,
  folder,
  fileOf,
  dumpPrompts,
  concurrency,
  onProgress,
}: RunQuestionsOptions): Promise<NotAsked> {
  const notAsked: NotAsked = new Map()
  const runs = new Map<string, Cell[]>()
  for (const cell of cells) runs.set(cell.run, [...(runs.get(cell.run) ?? []), cell])
  for (const [run, members] of runs) {
    const [first] = members
    if (first === undefined) continue
    const missing = missingFiles(first, fileOf)
    const leaveOut = (reason: string) => members.forEach((cell) => notAsked.set(cellName(cell), reason))
    if (missing.length > 0) {
      leaveOut(`${missing.join(', ')} is not among the data files`)
      continue
    }
    try {
      const prepared = await prepare({ ...evaluationOf(members, fileOf), dumpPrompts }, client)
      const into = path.join(folder, run)
      await evaluate({ client, folder: into, concurrency, onProgress: (done, total) => onProgress(first, done, total), ...prepared })
    } catch (error) {
      if (!(error instanceof CodedError) || !['options_invalid', 'dataset_invalid', 'nothing_scored'].includes(error.code)) throw error
      leaveOut(error.message)
    }
  }
  return notAsked
}
