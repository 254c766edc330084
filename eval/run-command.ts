import path from 'node:path'
import type { Command } from 'commander'
import { CodedError } from '../base/errors.ts'
import type { AnswerClient } from './client/client.ts'
import { connectTo } from './client/http.ts'
import { compareRuns, comparisonBlocks } from './tasks/open-domain-qa/compare.ts'
import { parseOptions, type RawOptions } from './tasks/open-domain-qa/options.ts'
import { chooseRetrieval, followModel } from './tasks/open-domain-qa/prepare.ts'
import { toMarkdown } from './report/blocks.ts'
import { runPreset, tablesOf, type PresetOptions } from './presets/command.ts'
import { readPublished } from './tasks/open-domain-qa/tables.ts'
import { reportRuns } from './tasks/open-domain-qa/report.ts'
import { askRun } from './tasks/open-domain-qa/ask-run.ts'
import { OPEN_DOMAIN_QA, runFolder, taskOfRun } from './runner/folder.ts'
import { readRun } from './tasks/open-domain-qa/record.ts'
import { compareTaskRuns, readRunOf, reportTaskRuns } from './task/report.ts'

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

/** Options valid with a paper's table only, and options valid always. The table determines all others. */
const OF_TABLES = ['table', 'giraffe', 'pi', 'data', 'columns', 'as']
const OF_ALL = ['limit', 'dumpPrompts', 'out', 'url', 'key', 'concurrency', 'plan', 'yes']

/** Whether a table of a paper is requested. @throws options_invalid for conflicting options */
function asksTable(raw: RunOptions, command: Command): boolean {
  const given = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
  const tables = tablesOf(raw)
  if (tables.length > 1) throw new CodedError('options_invalid', 'Give one of --table, --giraffe and --pi.')
  const asked = tables.length > 0
  const wrong = given.find((option) => {
    const name = option.attributeName()
    return asked ? ![...OF_TABLES, ...OF_ALL].includes(name) : OF_TABLES.includes(name)
  })
  if (wrong === undefined) return asked
  throw new CodedError(
    'options_invalid',
    `${wrong.long ?? wrong.flags} ${asked ? 'is determined by the table: omit it' : 'requires --table, --giraffe or --pi'}.`,
  )
}

/** `cepe eval`. */
export async function runEvaluation(raw: RunOptions, command: Command): Promise<void> {
  if (asksTable(raw, command)) return runPreset(raw, () => connect(raw, 'supplied'))
  const parsed = await chooseRetrieval(parseOptions(raw))
  const published = await readPublished(raw.published)
  const client = await connect(raw, parsed.protocol.retrieval)
  let folder: string
  try {
    const isGiven = (option: string) => command.getOptionValueSource(option) === 'cli'
    const own = raw.protocol === 'model' ? await client.defaults?.() : undefined
    const options = own === undefined ? parsed : followModel(parsed, own, { modes: isGiven('modes'), k: isGiven('k') })
    folder = raw.out ?? runFolder(options.dataset, [options, raw.url ?? null])
    await askRun(client, options, { ...raw, folder })
  } finally {
    await client.close()
  }
  if (raw.plan === true) return
  await reportRuns([folder], folder, published)
  process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
}

/** `cepe eval compare`. */
export async function printComparison(runA: string, runB: string): Promise<void> {
  const blocks =
    (await taskOfRun(runA)) === OPEN_DOMAIN_QA
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
  if (runs[0] !== undefined && (await taskOfRun(runs[0])) !== OPEN_DOMAIN_QA) await reportTaskRuns(runs, out)
  else await reportRuns(runs, out, await readPublished(options.published))
  process.stderr.write(`${path.join(out, 'report.md')}\n`)
}
