import { Argument, Command } from 'commander'
import { at } from '../../base/at.ts'
import { wholeNumber } from '../../src/cli/program/options.ts'
import type { Paper } from '../presets/read.ts'
import type { SuiteOptions } from '../suites/suite.ts'
import type { Task } from '../run/contract.ts'
import { runsFolder } from '../run/folder.ts'
import { invalidOption, type TaskOption } from '../run/options.ts'
import { reportRuns, TASKS } from '../tasks/runs.ts'
import { openDomainQa } from '../tasks/open-domain-qa/scores.ts'
import type { RopeOptions } from './rope.ts'
import type { GivenOptions } from './run.ts'
import type { TableOptions } from '../presets/run.ts'

const TABLES: Readonly<Record<Paper, readonly [command: string, what: string]>> = {
  cepe: ['table', "a table of CEPE's paper, row by row: 1, 2, 3, 4, 6, 7, 8, 11, 12, 13"],
  giraffe: ['giraffe', "a table of Giraffe's paper, as it numbers them: 1 to 9"],
  pi: ['pi', "a table of Position Interpolation's paper: 1 to 6"],
}

const SUITES = {
  demo: async () => (await import('../suites/demo.ts')).demo,
  squad: async () => (await import('../suites/squad.ts')).squad,
  documentation: async () => (await import('../suites/documentation.ts')).documentation,
} as const

/** `cepe eval`: questions, and a command for everything else. */
export function evalProgram(): Command {
  const program = new Command('cepe eval')
    .description(
      "Evaluate on open-domain question answering: the paper's Table 7 and Figure 3 for any checkpoint, corpus and question file. Running a command again resumes an unfinished run.",
    )
    .showHelpAfterError('(see --help)')
    .enablePositionalOptions()
    .action(async (given: GivenOptions) => (await import('./run.ts')).runQuestions(given))
  addService(addRun(addOptions(program, openDomainQa.options), 'eval/runs/<dataset>-<hash of the options>'))
  program
    .command('compare <runA> <runB>')
    .description('paired differences and significance between two runs on the same questions')
    .action(async (runA: string, runB: string) => (await import('./run.ts')).printComparison(runA, runB))
  program
    .command('report <runs...>')
    .description('write the report of one run, or of several as columns of one table')
    .option('--out <folder>', "output folder (default: the first run's)")
    .action((runs: string[], { out = at(runs, 0) }: { out?: string }) => reportRuns(runs, out))
  for (const paper of ['cepe', 'giraffe', 'pi'] as const) program.addCommand(tableCommand(paper))
  for (const task of TASKS) program.addCommand(taskCommand(task))
  for (const command of [allCommand(), ropeCommand(), suiteCommand()]) program.addCommand(command)
  return program
}

/** `cepe eval <task>`: runs the task and writes its report into the run's folder. */
function taskCommand(task: Task): Command {
  const command = new Command(task.name)
    .description(`${task.title}: ${task.description}`)
    .option('--small', 'sizes for the shipped model')
    .action(async (given: GivenOptions) => (await import('./run.ts')).runTaskCommand(task, given))
  return addOptions(addRun(command, `eval/runs/${task.name}-<hash of the options>`), task.options)
}

/** `cepe eval table 7`, `cepe eval giraffe 3`, `cepe eval pi 2`. */
function tableCommand(paper: Paper): Command {
  const [name, what] = TABLES[paper]
  const command = new Command(name)
    .description(`run ${what}; the report has the published scores and those of every model measured so far`)
    .argument('<number>', 'number of the table')
    .option('--data <folder>', 'folder of the data files')
    .option('--columns <list>', 'columns of the table (default: all)')
    .option('--as <model>', "the table's model that the configured one represents (default: by its name)")
    .option('--limit <number>', 'items per cell')
    .action(async (table: string, given: TableOptions) => (await import('../presets/run.ts')).runTable(paper, table, given))
  return addService(addRun(command, `eval/runs/${paper}-<number>`))
}

/** `cepe eval all --small`: every task on its small data with the configured model, and one report. */
function allCommand(): Command {
  return addReport(new Command('all'), 'all-small')
    .description('run every task on its small data and write one report')
    .option('--small', 'required: for large data sets run each task')
    .action(async ({ small, runs, out = runs }: { small?: boolean; runs: string; out?: string }) => {
      if (small !== true) throw invalidOption('all takes --small: for other sizes name the data of each task (cepe eval lm --help).')
      await (await import('./run.ts')).runAll(runs, out)
    })
}

const KINDS = 'none,linear:4,yarn:4,power:0.5,truncated:512,linear:2+truncated:512,randomised:0.25,dynamic:2,xpos:8192,xpos-halves:8192'

/** `cepe eval rope`: one decoder under several rotary bases, by length (Giraffe's comparison in small). */
function ropeCommand(): Command {
  return addReport(new Command('rope'), 'rope')
    .description('build the reader with several --rope kinds and compare perplexity and lines accuracy by length')
    .option('--kinds <list>', 'kinds as cepe build --rope takes them', KINDS)
    .option('--window <positions>', 'window of the built models', '2048')
    .action(async (options: RopeOptions) => (await import('./rope.ts')).runRope(options))
}

function suiteCommand(): Command {
  return new Command('suite')
    .description('ask a suite of questions in several settings and write one report, with tables of how certain the answers are')
    .addArgument(
      new Argument(
        '<name>',
        'demo: the shipped corpus and questions; squad: real text (passages.tsv, questions.jsonl); documentation: public documentation',
      ).choices(Object.keys(SUITES)),
    )
    .argument('[folder]', 'data of squad and documentation')
    .option('--questions <number>', 'questions of each run (default: 200 of demo, else all)', wholeNumber({ min: 1 }))
    .option('--k <numbers>', "passages per question, a list (default: the suite's own)")
    .option('--reader <folder>', 'folder of a built reader (default: the shipped one; squad: the configured one)')
    .option('--calibration <file>', "calibration of that reader (default: the shipped one, if it is that reader's)")
    .option('--out <folder>', 'folder of the report, and of the runs of squad (default: eval/runs/<name>)')
    .action(async (name: keyof typeof SUITES, folder: string | undefined, options: SuiteOptions) =>
      (await import('../suites/suite.ts')).runSuite(await SUITES[name](), folder, options),
    )
}

function addOptions(command: Command, options: readonly TaskOption[]): Command {
  for (const { flags, description, byDefault, small } of options) {
    const values = small === undefined ? byDefault : `${byDefault ?? ''}; small: ${small}`
    command.option(flags, values === undefined ? description : `${description} (default: ${values})`)
  }
  return command
}

/** Options of every run. @param folder its default folder, for the help */
function addRun(command: Command, folder: string): Command {
  return command
    .option('--out <folder>', `run folder (default: ${folder})`)
    .option('--plan', 'only estimate the cost, from the first items; of a table, also show its rows, models and data files')
    .option('--yes', 'run even if it takes more than a day by the estimate')
    .option('--dump-prompts', 'store the prompts as text in predictions.jsonl, not only their hash')
}

function addService(command: Command): Command {
  return command
    .option('--concurrency <number>', 'questions asked at a time', wholeNumber({ min: 1 }), 2)
    .option('--url <address>', 'evaluate a running service instead of starting the pipeline here')
    .option('--key <key>', "a key of that service; better in CEPE_KEY, since a machine's users see each other's command lines")
}

function addReport(command: Command, runs: string): Command {
  return command
    .option('--runs <folder>', 'folder of the runs', runsFolder(runs))
    .option('--out <folder>', 'folder of the report (default: the folder of the runs)')
}
