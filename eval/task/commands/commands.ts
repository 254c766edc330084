import { Command } from 'commander'
import type { Task } from '../contract.ts'
import type { GivenOptions } from './run-command.ts'
import path from 'node:path'
import { packageRoot } from '../../../src/package.ts'
import { CodedError } from '../../../base/errors.ts'
import type { RopeOptions } from './rope-run.ts'

/** `cepe eval <task>`: runs the task and writes its report into the run's folder. */
export function taskCommand(task: Task): Command {
  const command = new Command(task.name)
    .description(`${task.title}: ${task.description}`)
    .option('--out <folder>', `run folder (default: eval/runs/${task.name}-<hash of the options>)`)
    .option('--small', 'sizes for the shipped model')
    .option('--plan', 'only estimate the cost, from the first item')
    .option('--yes', 'run even if it takes more than a day by the estimate')
    .option('--dump-prompts', 'store the prompts as text in predictions.jsonl, not only their hash')
    .action(async (given: GivenOptions) => (await import('./run-command.ts')).runTaskCommand(task, given))
  for (const { flags, description, byDefault, small } of task.options)
    command.option(
      flags,
      `${description}${byDefault === undefined ? '' : ` (default: ${byDefault}${small === undefined ? '' : `; small: ${small}`})`}`,
    )
  return command
}

/** `cepe eval all --small`: every task on its small data with the configured model, and one report. */
export function allCommand(): Command {
  return new Command('all')
    .description('run every task on its small data and write one report')
    .option('--small', 'required: for large data sets run each task')
    .option('--runs <folder>', 'folder of the runs', path.join(packageRoot(), 'eval', 'runs', 'all-small'))
    .option('--out <folder>', 'folder of the report (default: the folder of the runs)')
    .action(async ({ small, runs, out = runs }: { small?: boolean; runs: string; out?: string }) => {
      if (small !== true)
        throw new CodedError('options_invalid', 'all takes --small: for other sizes name the data of each task (cepe eval lm --help).')
      await (await import('./run-command.ts')).runAll(runs, out)
      process.stderr.write(`Report: ${path.join(out, 'report.md')} and report.html\n`)
    })
}

const KINDS = 'none,linear:4,yarn:4,power:0.5,truncated:512,linear:2+truncated:512,randomised:0.25,dynamic:2,xpos:8192,xpos-halves:8192'

/** `cepe eval rope`: one decoder under several rotary bases, by length (Giraffe's comparison in small). */
export function ropeCommand(): Command {
  return new Command('rope')
    .description('build the reader with several --rope kinds and compare perplexity and lines accuracy by length')
    .option('--kinds <list>', 'kinds as cepe build --rope takes them', KINDS)
    .option('--window <positions>', 'window of the built models', '2048')
    .option('--runs <folder>', 'folder of models and runs', path.join(packageRoot(), 'eval', 'runs', 'rope'))
    .option('--out <folder>', 'folder of the report (default: the folder of the runs)')
    .action(async (options: RopeOptions) => (await import('./rope-run.ts')).runRope(options))
}
