import { Command } from 'commander'
import path from 'node:path'
import { createProgress } from '../../src/cli/progress.ts'
import { packageRoot } from '../../src/config.ts'
import { CodedError } from '../../base/errors.ts'
import { table, text } from '../report/blocks.ts'
import { TASKS } from '../tasks/list.ts'
import { taskOptions } from './options.ts'
import { reportTaskRuns } from './report.ts'
import { runTask } from './run.ts'
import { runSmallQa } from './small-qa.ts'

/** `cepe eval all --small`: every task on its small data with the configured model, and one report. */
export function allCommand(): Command {
  return new Command('all')
    .description('every task on its small data, into one report')
    .option('--small', 'the only size there is: large data sets are named one by one')
    .option('--runs <folder>', 'folder of the runs', path.join(packageRoot(), 'eval', 'runs', 'all-small'))
    .option('--out <folder>', 'folder of the report (default: that of the runs)')
    .action(async ({ small, runs, out = runs }: { small?: boolean; runs: string; out?: string }) => {
      if (small !== true)
        throw new CodedError('options_invalid', 'all takes --small: for other sizes name the data of each task (cepe eval lm --help).')
      await runAll(runs, out)
      process.stderr.write(`Report: ${path.join(out, 'report.md')} and report.html\n`)
    })
}

async function runAll(runs: string, out: string): Promise<void> {
  const folders: string[] = []
  const took: [string, number][] = []
  const { createReaderClient } = await import('../client/reader.ts')
  const client = await createReaderClient()
  try {
    for (const task of TASKS) {
      const started = performance.now()
      const progress = createProgress(task.title, 'items')
      try {
        folders.push(
          await runTask({
            task,
            options: taskOptions(task, {}, true),
            client,
            folder: path.join(runs, task.name),
            onProgress: (done, total) => progress.update(done, total),
          }),
        )
      } finally {
        progress.stop()
      }
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
        'The configured model (by default the shipped one) on small data that ships or is generated. It shows that every task runs from data to table and plot; a tiny model knows little of most of them. The shipped one was trained to answer questions from passages, not to continue a text with contexts in its encoder, which shows in its perplexities.',
      ),
      table(
        ['task', 'seconds'],
        took.map(([title, ms]) => [title, (ms / 1000).toFixed(0)]),
      ),
    ],
    appended: qa,
  })
}
