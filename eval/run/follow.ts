import { CodedError } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { describeProblem, type Problem } from '../datasets/question-set.ts'

/** What the items of a run that are left take, measured on the first of them. */
export interface Cost {
  /** Plural noun for the items. */
  readonly what: string
  readonly items: number
  readonly settings: number
  /** Mean tokens read and generated per item, in all settings. */
  readonly tokens: number
  /** Estimated time of all items. */
  readonly ms: number
}

const DAY_MS = 86_400_000

/** `about 40 s`, `about 12 min`, `about 3.5 h`. */
export function duration(ms: number): string {
  if (ms < 90_000) return `about ${Math.ceil(ms / 1000)} s`
  return ms < 5_400_000 ? `about ${Math.round(ms / 60_000)} min` : `about ${(ms / 3_600_000).toFixed(1)} h`
}

/** `3610 questions x 4 settings = 14440 answers, 2300 tokens per question: about 12.3 h at 190 tokens/s (measured on the first)`. */
export function describeCost({ what, items, settings, tokens, ms }: Cost): string {
  const speed = (1000 * tokens * items) / ms
  return `${items} ${what} x ${settings} ${settings === 1 ? 'setting' : 'settings'} = ${items * settings} answers, ${Math.round(tokens)} tokens per item, ${Math.round(tokens * items)} in all: ${duration(ms)} at ${speed < 10 ? speed.toFixed(1) : Math.round(speed)} tokens/s (measured on the first)`
}

/** A run, or the runs of a table together, that would take more than a day. */
export class BeyondADay extends CodedError {}

/**
 * Prints the cost of every run to standard error.
 * @returns a function for each run's cost, which throws BeyondADay once all of them take more than a day, unless `yes`
 */
export function costGate({ yes = false }: Pick<RunCommandOptions, 'yes'>): (cost: Cost) => void {
  let total = 0
  return (cost) => {
    total += cost.ms
    process.stderr.write(`Cost: ${describeCost(cost)}\n`)
    const message = `This would take ${duration(total)}, more than a day: confirm with --yes, or ask less (--limit, --items or fewer settings).`
    if (total > DAY_MS && !yes) throw new BeyondADay('options_invalid', message)
  }
}

export interface RunCommandOptions {
  readonly out?: string
  /** Only estimates the cost. */
  readonly plan?: boolean
  /** Also runs for more than a day. */
  readonly yes?: boolean | undefined
  readonly dumpPrompts?: boolean
  readonly concurrency?: number
}

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
  given: Pick<RunCommandOptions, 'yes' | 'plan'>,
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
