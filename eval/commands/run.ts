import path from 'node:path'
import { closing } from '../../base/files.ts'
import { toMarkdown, table, text } from '../report/blocks.ts'
import { connect, type ServiceOptions } from '../client/http.ts'
import { questionFile } from '../datasets/shipped.ts'
import { followed, type RunCommandOptions } from '../run/follow.ts'
import { runFolder } from '../run/folder.ts'
import { compareRuns, comparisonBlocks } from '../run/compare.ts'
import type { Task } from '../run/contract.ts'
import { taskOptions } from '../run/options.ts'
import { readRunOf, reportRuns, TASKS } from '../tasks/runs.ts'
import { runTask } from '../run/run-task.ts'
import { askQuestions } from '../tasks/open-domain-qa/ask.ts'
import { parseOptions } from '../tasks/open-domain-qa/options.ts'
import { chooseRetrieval, followModel } from '../tasks/open-domain-qa/prepare.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'

/** Options of a run, including the task's. */
export type GivenOptions = Record<string, unknown> & RunCommandOptions & ServiceOptions & { readonly small?: boolean }

/** `cepe eval`. */
export async function runQuestions(given: GivenOptions): Promise<void> {
  const parsed = await chooseRetrieval(parseOptions(given))
  await using client = closing(await connect(given, parsed.protocol.retrieval))
  const own = given['protocol'] === 'model' ? await client.defaults() : undefined
  const isGiven = { modes: given['modes'] !== undefined, k: given['k'] !== undefined }
  const options = own === undefined ? parsed : followModel(parsed, own, isGiven)
  const folder = given.out ?? runFolder(options.dataset, [options, given.url ?? null])
  const asked = { client, options, folder, concurrency: given.concurrency ?? 1 }
  await followed(`Evaluating ${options.dataset}`, given, (run) => askQuestions({ ...asked, ...run }))
  if (given.plan !== true) await reportRuns([folder], folder)
}

/** `cepe eval <task>`, with the configured reader. */
export async function runTaskCommand(task: Task, given: GivenOptions): Promise<void> {
  const options = taskOptions(task, given, given.small)
  await using client = closing(await (await import('../client/reader.ts')).createReaderClient())
  const { out, dumpPrompts = false } = given
  const folder = await followed(task.title, given, (run) => runTask({ task, options, client, folder: out, dumpPrompts, ...run }))
  if (given.plan !== true) await reportRuns([folder], folder)
}

/** `cepe eval compare`. */
export async function printComparison(runA: string, runB: string): Promise<void> {
  process.stdout.write(toMarkdown(comparisonBlocks(compareRuns(await readRunOf(runA), await readRunOf(runB)))))
}

const QUESTIONS = 10

/** Runs every task on its small data. @param out folder of the report */
export async function runAll(runs: string, out: string): Promise<void> {
  const took: string[][] = []
  const timed = async <Result>(title: string, run: () => Promise<Result>): Promise<Result> => {
    const started = performance.now()
    const result = await run()
    took.push([title, ((performance.now() - started) / 1000).toFixed(0)])
    return result
  }
  const folder = path.join(runs, 'open-domain')
  const protocol = modelProtocol(['cepe', 'decoder-only', 'replug', 'closed-book'], [2, 10], 'dense', 10)
  const options = { dataset: 'demo', questions: questionFile('test.jsonl'), limit: QUESTIONS, protocol, dumpPrompts: false }
  await timed('Open-domain question answering', async () => {
    await using client = closing(await connect({}, 'dense'))
    await followed('Evaluating demo', { yes: true }, (run) => askQuestions({ client, options, folder, concurrency: 1, ...run }))
  })
  const folders = await runTasks(runs, timed)
  await reportRuns([...folders, folder], out, {
    title: 'Every task in small',
    lead: [
      text(
        'Small data that ships or is generated: it shows that every task runs from data to table and plot. A small model knows little of most of them, and one that was trained to answer questions from passages does not continue texts well, which shows in its perplexities.',
      ),
      table(['task', 'seconds'], took),
    ],
  })
}

/** @returns the run folders of all tasks that need no data */
async function runTasks(runs: string, timed: (title: string, run: () => Promise<string>) => Promise<string>): Promise<string[]> {
  await using client = closing(await (await import('../client/reader.ts')).createReaderClient())
  const folders: string[] = []
  for (const task of TASKS.filter(({ needsData }) => needsData !== true)) {
    const asked = { task, options: taskOptions(task, {}, true), client, folder: path.join(runs, task.name) }
    folders.push(await timed(task.title, () => followed(task.title, { yes: true }, (run) => runTask({ ...asked, ...run }))))
  }
  return folders
}
