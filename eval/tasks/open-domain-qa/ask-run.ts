import { createProgress } from '../../../src/cli/program/progress.ts'
import type { AnswerClient } from '../../client/client.ts'
import { describeProblem } from '../../datasets/question-set.ts'
import { costGate } from '../../runner/cost.ts'
import { evaluate } from './ask.ts'
import { type EvaluationOptions, prepare } from './prepare.ts'

/** Asks the questions of a run, or resumes it, with its problems and progress on standard error. @throws as `prepare` and `evaluate` */
export async function askRun(
  client: AnswerClient,
  options: EvaluationOptions,
  run: { readonly folder: string; readonly concurrency: number; readonly plan?: boolean; readonly yes?: boolean },
): Promise<void> {
  const { folder, concurrency, plan: planOnly } = run
  const prepared = await prepare(options, client)
  for (const problem of prepared.manifest.data.problems) process.stderr.write(`${describeProblem(problem)}\n`)
  const progress = createProgress(`Evaluating ${options.dataset}`, 'answers')
  const onProgress = (done: number, total: number, detail: string) => progress.update(done, total, detail)
  await evaluate({ client, folder, concurrency, onProgress, onCost: costGate(run), planOnly, ...prepared }).finally(() => progress.stop())
}
