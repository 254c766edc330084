import path from 'node:path'
import type { Command } from 'commander'
import { CodedError } from '../base/errors.ts'
import { createProgress } from '../src/cli/program/progress.ts'
import type { AnswerClient } from './client/client.ts'
import { connectTo } from './client/connect.ts'
import { compareRuns, comparisonBlocks } from './tasks/open-domain-qa/compare.ts'
import { describeProblem } from './datasets/problems.ts'
import { defaultFolder, parseOptions, type RawOptions } from './tasks/open-domain-qa/options.ts'
import { chooseRetrieval, prepare } from './tasks/open-domain-qa/prepare.ts'
import { toMarkdown } from './report/blocks.ts'
import { runPreset, type PresetOptions } from './presets/command.ts'
import { readPublished } from './tasks/open-domain-qa/published.ts'
import { reportRuns } from './tasks/open-domain-qa/report.ts'
import { evaluate } from './tasks/open-domain-qa/evaluate.ts'
import { taskOfRun } from './runner/folder.ts'
import { readRun } from './tasks/open-domain-qa/run.ts'
import { compareTaskRuns } from './task/compare.ts'
import { readRunOf } from './task/read.ts'
import { reportTaskRuns } from './task/report.ts'

export interface RunOptions extends RawOptions, PresetOptions {
  readonly url?: string
  readonly key?: string
  readonly published?: string
}

/** The pipeline is loaded only if it runs in this process. */
async function connect({ url, key }: Pick<RunOptions, 'url' | 'key'>, retrieval: string): Promise<AnswerClient> {
  if (url !== undefined) return connectTo(url, key)
  const { createInProcessClient, createReadingClient } = await import('./client/in-process.ts')
  return retrieval === 'supplied' ? createReadingClient() : createInProcessClient()
}

/** Options valid with --table and --giraffe only, and options valid always. The table determines all others. */
const OF_TABLES = ['table', 'giraffe', 'data', 'columns', 'as', 'plan']
const OF_ALL = ['limit', 'dumpPrompts', 'out', 'url', 'key', 'concurrency']

/** Whether a table of a paper is requested. @throws options_invalid for conflicting options */
function asksTable({ table, giraffe }: RunOptions, command: Command): boolean {
  const given = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
  if (table !== undefined && giraffe !== undefined) throw new CodedError('options_invalid', 'Give --table or --giraffe, not both.')
  const asked = table !== undefined || giraffe !== undefined
  const wrong = given.find((option) => {
    const name = option.attributeName()
    return asked ? ![...OF_TABLES, ...OF_ALL].includes(name) : OF_TABLES.includes(name)
  })
  if (wrong === undefined) return asked
  throw new CodedError(
    'options_invalid',
    `${wrong.long ?? wrong.flags} ${asked ? 'is determined by the table: omit it' : 'requires --table or --giraffe'}.`,
  )
}

/** `cepe eval`. */
export async function runEvaluation(raw: RunOptions, command: Command): Promise<void> {
  if (asksTable(raw, command)) return runPreset(raw, () => connect(raw, 'supplied'))
  const options = await chooseRetrieval(parseOptions(raw))
  const published = await readPublished(raw.published)
  const folder = raw.out ?? defaultFolder(options, raw.url)
  const client = await connect(raw, options.protocol.retrieval)
  try {
    const { manifest, questions, pool } = await prepare(options, client)
    for (const problem of manifest.data.problems) process.stderr.write(`${describeProblem(problem)}\n`)
    const progress = createProgress('Evaluating', 'questions')
    try {
      await evaluate({
        client,
        folder,
        manifest,
        questions,
        pool,
        concurrency: raw.concurrency,
        onProgress: (done, total, detail) => progress.update(done, total, detail),
      })
    } finally {
      progress.stop()
    }
  } finally {
    await client.close()
  }
  await reportRuns([folder], folder, published)
  process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
}

/** `cepe eval compare`. */
export async function printComparison(runA: string, runB: string): Promise<void> {
  const blocks =
    (await taskOfRun(runA)) === undefined
      ? comparisonBlocks(compareRuns(await readRun(runA), await readRun(runB)))
      : compareTaskRuns(await readRunOf(runA), await readRunOf(runB))
  process.stdout.write(toMarkdown(blocks))
}

/** `cepe eval report`. */
export async function writeReports(
  runs: readonly string[],
  options: { readonly out?: string; readonly published?: string },
): Promise<void> {
  const out = options.out ?? runs[0] ?? '.'
  if (runs[0] !== undefined && (await taskOfRun(runs[0])) !== undefined) await reportTaskRuns(runs, out)
  else await reportRuns(runs, out, await readPublished(options.published))
  process.stderr.write(`${path.join(out, 'report.md')}\n`)
}
