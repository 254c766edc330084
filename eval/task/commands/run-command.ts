import { costGate } from '../../runner/cost.ts'
import path from 'node:path'
import { createReaderClient } from '../../client/reader.ts'
import { describeProblem } from '../../datasets/question-set.ts'
import { table, text } from '../../report/blocks.ts'
import type { Report } from '../../report/report.ts'
import type { Task } from '../contract.ts'
import { taskOptions } from '../options.ts'
import { reportTaskRuns } from '../report.ts'
import { runTask, type RunTaskOptions } from '../run.ts'
import { TASKS } from '../../tasks/list.ts'
import { askRun } from '../../tasks/open-domain-qa/ask-run.ts'
import { modelProtocol } from '../../tasks/open-domain-qa/protocol.ts'
import { readPublished } from '../../tasks/open-domain-qa/tables.ts'
import { buildReport } from '../../tasks/open-domain-qa/report.ts'
import { readRun } from '../../tasks/open-domain-qa/record.ts'
import { createProgress } from '../../../src/cli/program/progress.ts'
import { questionFile } from '../../datasets/shipped.ts'

/** Options of the command line, including the task's. */
export type GivenOptions = Record<string, unknown> & { out?: string; small?: boolean; dumpPrompts?: boolean; plan?: boolean; yes?: boolean }

/** Runs a task with the configured reader and writes its report. */
export async function runTaskCommand(task: Task, given: GivenOptions): Promise<void> {
  const options = taskOptions(task, given, given.small)
  const client = await createReaderClient()
  try {
    const folder = await run({ task, options, client, folder: given.out }, given)
    if (given.plan === true) return
    await reportTaskRuns([folder], folder)
    process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
  } finally {
    await client.close()
  }
}

/** Runs a task with its problems and progress on standard error. @returns the run folder */
async function run(asked: RunTaskOptions, given: GivenOptions): Promise<string> {
  const progress = createProgress(asked.task.title, 'answers')
  return runTask({
    ...asked,
    dumpPrompts: given.dumpPrompts ?? false,
    onProblem: (problem) => process.stderr.write(`${describeProblem(problem)}\n`),
    onProgress: (done, total, left) => progress.update(done, total, left),
    onCost: costGate(given),
    planOnly: given.plan,
  }).finally(() => progress.stop())
}

/** Runs every task on its small data. @param out folder of the report */
export async function runAll(runs: string, out: string): Promise<void> {
  const folders: string[] = []
  const took: [string, number][] = []
  const client = await createReaderClient()
  try {
    for (const task of TASKS.filter(({ needsData }) => needsData !== true)) {
      const started = performance.now()
      folders.push(await run({ task, options: taskOptions(task, {}, true), client, folder: path.join(runs, task.name) }, { yes: true }))
      took.push([task.title, performance.now() - started])
    }
  } finally {
    await client.close()
  }
  const started = performance.now()
  const qa = await runSmallQa(path.join(runs, 'open-domain'))
  took.push(['Open-domain question answering', performance.now() - started])
  await reportTaskRuns(folders, out, {
    title: 'Every task in small',
    lead: [
      text(
        'The configured model (by default the shipped one) on small data that ships or is generated. It shows that every task runs from data to table and plot; a small model knows little of most of them. The shipped ones were trained to answer questions from passages, not to continue a text, which shows in their perplexities.',
      ),
      table(
        ['task', 'seconds'],
        took.map(([title, ms]) => [title, (ms / 1000).toFixed(0)]),
      ),
    ],
    appended: qa,
  })
}

const QUESTIONS = 10

/** Runs open-domain question answering on some demo questions; its report is a section of another. */
export async function runSmallQa(folder: string): Promise<Report> {
  const { createInProcessClient } = await import('../../client/in-process.ts')
  const client = await createInProcessClient()
  try {
    const protocol = modelProtocol(['cepe', 'decoder-only', 'replug', 'closed-book'], [2, 10], 'dense', 10)
    const asked = { dataset: 'demo', questions: questionFile('test.jsonl'), limit: QUESTIONS, protocol, dumpPrompts: false }
    await askRun(client, asked, { folder, concurrency: 1, yes: true })
  } finally {
    await client.close()
  }
  return buildReport([await readRun(folder)], await readPublished())
}
