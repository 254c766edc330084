import { Command } from 'commander'
import path from 'node:path'
import { createProgress } from '../../src/cli/progress.ts'
import { describeProblem } from '../datasets/problems.ts'
import { taskOptions } from './options.ts'
import { reportTaskRuns } from './report.ts'
import { runTask } from './run.ts'
import type { Task } from './contract.ts'

/** `cepe eval <task>`: runs the task and writes its report into the run's folder. */
export function taskCommand(task: Task): Command {
  const command = new Command(task.name)
    .description(`${task.title}: ${task.description}`)
    .option('--out <folder>', `run folder (default: eval/runs/${task.name}-<hash of the options>)`)
    .option('--small', 'sizes for the shipped model')
    .action(async (given: Record<string, unknown> & { out?: string; small?: boolean }) => {
      const options = taskOptions(task, given, given.small)
      const { createReaderClient } = await import('../client/reader.ts')
      const client = await createReaderClient()
      const progress = createProgress(task.title, 'items')
      try {
        const folder = await runTask({
          task,
          options,
          client,
          ...(given.out !== undefined && { folder: given.out }),
          onProblem: (problem) => process.stderr.write(`${describeProblem(problem)}\n`),
          onProgress: (done, total) => progress.update(done, total),
        })
        await reportTaskRuns([folder], folder)
        process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
      } finally {
        progress.stop()
        await client.close()
      }
    })
  for (const { flags, description, byDefault, small } of task.options)
    command.option(
      flags,
      `${description}${byDefault === undefined ? '' : ` (default: ${byDefault}${small === undefined ? '' : `; small: ${small}`})`}`,
    )
  return command
}
