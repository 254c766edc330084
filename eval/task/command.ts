import { Command } from 'commander'
import type { Task } from './contract.ts'
import type { GivenOptions } from './run-command.ts'

/** `cepe eval <task>`: runs the task and writes its report into the run's folder. */
export function taskCommand(task: Task): Command {
  const command = new Command(task.name)
    .description(`${task.title}: ${task.description}`)
    .option('--out <folder>', `run folder (default: eval/runs/${task.name}-<hash of the options>)`)
    .option('--small', 'sizes for the shipped model')
    .option('--dump-prompts', 'keep the prompts as text in predictions.jsonl, beside their hash')
    .action(async (given: GivenOptions) => (await import('./run-command.ts')).runTaskCommand(task, given))
  for (const { flags, description, byDefault, small } of task.options)
    command.option(
      flags,
      `${description}${byDefault === undefined ? '' : ` (default: ${byDefault}${small === undefined ? '' : `; small: ${small}`})`}`,
    )
  return command
}
