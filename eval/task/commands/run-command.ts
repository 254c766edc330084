import path from 'node:path'
import { createProgress } from '../../../src/cli/program/progress.ts'
import { createReaderClient } from '../../client/reader.ts'
import { describeProblem } from '../../datasets/problems.ts'
import type { Task } from '../contract.ts'
import { taskOptions } from '../options.ts'
import { reportTaskRuns } from '../report.ts'
import { runTask } from '../run.ts'

/** Options of the command line, including the task's. */
export type GivenOptions = Record<string, unknown> & { out?: string; small?: boolean; dumpPrompts?: boolean }

/** Runs a task with the configured reader and writes its report. */
export async function runTaskCommand(task: Task, given: GivenOptions): Promise<void> {
  const options = taskOptions(task, given, given.small)
  const client = await createReaderClient()
  const progress = createProgress(task.title, 'items')
  try {
    const folder = await runTask({
      task,
      options,
      client,
      dumpPrompts: given.dumpPrompts ?? false,
      folder: given.out,
      onProblem: (problem) => process.stderr.write(`${describeProblem(problem)}\n`),
      onProgress: (done, total) => progress.update(done, total),
    })
    await reportTaskRuns([folder], folder)
    process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
  } finally {
    progress.stop()
    await client.close()
  }
}
