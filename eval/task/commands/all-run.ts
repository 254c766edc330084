import path from 'node:path'
import { createProgress } from '../../../src/cli/program/progress.ts'
import { table, text } from '../../report/blocks.ts'
import { TASKS } from '../../tasks/list.ts'
import { taskOptions } from '../options.ts'
import { reportTaskRuns } from '../report.ts'
import { runTask } from '../run.ts'
import { runSmallQa } from './small-qa.ts'

/** Runs every task on its small data. @param out folder of the report */
export async function runAll(runs: string, out: string): Promise<void> {
  const folders: string[] = []
  const took: [string, number][] = []
  const { createReaderClient } = await import('../../client/reader.ts')
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
