import { createProgress } from '../../src/cli/program/progress.ts'
import { describeProblem, type Problem } from '../datasets/question-set.ts'
import { type Cost, costGate } from './cost.ts'

/** How a run is followed, whatever it asks. */
export interface RunOptions {
  readonly onProblem?: (problem: Problem) => void
  /** In answers; with running scores and the time left in words. */
  readonly onProgress?: (done: number, total: number, detail: string) => void
  /** Called once the first items left are asked; an error of it ends the run. */
  readonly onCost?: ((cost: Cost) => void) | undefined
  /** Only measures the cost: nothing is kept, and no record returned. */
  readonly planOnly?: boolean | undefined
}

/** Runs with problems, cost and progress on standard error. @throws as `run`; BeyondADay */
export async function followed<T>(
  title: string,
  given: { readonly yes?: boolean; readonly plan?: boolean },
  run: (options: RunOptions) => Promise<T>,
): Promise<T> {
  const progress = createProgress(title, 'answers')
  return run({
    onProblem: (problem) => process.stderr.write(`${describeProblem(problem)}\n`),
    onProgress: (done, total, detail) => progress.update(done, total, detail),
    onCost: costGate(given),
    planOnly: given.plan,
  }).finally(() => progress.stop())
}
