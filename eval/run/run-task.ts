import { createHash } from 'node:crypto'
import type { ReaderClient } from '../client/reader.ts'
import { describeProblem } from '../datasets/question-set.ts'
import { invalidDataset } from '../datasets/records.ts'
import type { RunOptions } from './follow.ts'
import { runFolder } from './folder.ts'
import { runItems } from './items.ts'
import { skippedFor, startedNow, TASK_RUNS, type SettingResult, type TaskManifest, type TaskRecord } from './record.ts'
import type { TaskOptions } from './options.ts'
import type { SettingAnswer, Task, AskedIds } from './contract.ts'
import type { Tokenizer } from '../../src/text/tokenizer.ts'

/** Items asked at a time: one, so that times compare. */
const CONCURRENCY = 1

interface RunTaskOptions extends RunOptions {
  readonly task: Task
  readonly options: TaskOptions
  readonly client: ReaderClient
  /** Run folder; by default named after the options. */
  readonly folder?: string | undefined
  /** Also stores the prompts as text. */
  readonly dumpPrompts?: boolean
}

/** Runs or resumes a task in its folder. @returns the folder @throws dataset_invalid, options_invalid, run_mismatch, nothing_scored */
export async function runTask({
  task,
  options,
  client,
  folder,
  onProblem = () => undefined,
  onProgress = () => undefined,
  dumpPrompts = false,
  ...run
}: RunTaskOptions): Promise<string> {
  const prepared = await task.prepare(options, client)
  const problems = [...prepared.files.flatMap((read) => read.problems ?? []), ...prepared.problems]
  if (prepared.items.length === 0) {
    const why = problems.map(describeProblem).join('; ')
    throw invalidDataset(`There is nothing to ask in the data of ${task.name}${why === '' ? '' : `: ${why}`}.`)
  }
  const { layers, kv_heads, head_dim, encoder_hidden_size, window } = client.manifest.dims
  const manifest: TaskManifest = {
    task: task.name,
    subject: {
      version: task.version,
      options: { ...options.all },
      settings: [...prepared.settings],
      files: prepared.files.map(({ file, sha256 }) => ({ file, sha256 })),
      reader: client.model,
      ...(dumpPrompts && { dump_prompts: true }),
    },
    model: { layers, kv_heads, head_dim, encoder_hidden_size, window },
    data: { items: prepared.items.length, problems },
    ...startedNow(client),
  }
  problems.forEach(onProblem)
  const into = folder ?? runFolder(task.name, manifest.subject)
  await runItems({
    ...run,
    folder: into,
    format: TASK_RUNS,
    manifest,
    items: prepared.items,
    what: 'items',
    settings: prepared.settings.length,
    tokensOf: ({ results }) => results.reduce((sum, { tokens }) => sum + tokens.decoder + tokens.encoder + tokens.generated, 0),
    concurrency: CONCURRENCY,
    ask: async ({ id, groups, cluster, ask }): Promise<TaskRecord> => {
      const record = { id, groups: { ...groups }, ...(cluster !== undefined && { cluster }) }
      try {
        return { ...record, results: (await ask()).map((answer) => keptResult(answer, client.tokenizer, dumpPrompts)) }
      } catch (error) {
        return { ...record, results: [], skipped: skippedFor(error, null) }
      }
    },
    onProgress,
  })
  return into
}

/** Hash of the ids of all prompts and contexts: equal for equal input of the reader. */
function hashIds({ decoder, encoder }: AskedIds): string {
  const hash = createHash('sha256')
  for (const rows of [decoder, encoder]) {
    hash.update(Uint32Array.of(rows.length))
    for (const ids of rows) hash.update(Uint32Array.from([ids.length, ...ids]))
  }
  return hash.digest('hex')
}

/** A result as stored: with the hash of its input, and its text if requested. */
function keptResult({ asked, ...result }: SettingAnswer, tokenizer: Tokenizer, dumpPrompts: boolean): SettingResult {
  const texts = (rows: AskedIds['decoder']): string[] => rows.map((ids) => tokenizer.decode(ids))
  return {
    ...result,
    prompt_sha256: hashIds(asked),
    ...(dumpPrompts && { prompts: { decoder: texts(asked.decoder), encoder: texts(asked.encoder) } }),
  }
}
