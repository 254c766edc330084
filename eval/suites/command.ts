import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { wholeNumber } from '../../src/cli/program/options.ts'
import type { SuiteOptions } from './suite.ts'

const SUITES = {
  demo: async () => (await import('./demo.ts')).demo,
  squad: async () => (await import('./squad.ts')).squad,
  documentation: async () => (await import('./documentation.ts')).documentation,
} as const

/** `cepe eval suite <name> [folder]`. */
export function suiteCommand(): Command {
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
    .addOption(new Option('--report <folder>').hideHelp().argParser(renamed))
    .option('--out <folder>', 'folder of the report, and of the runs of squad (default: eval/runs/<name>)')
    .action(async (name: keyof typeof SUITES, folder: string | undefined, options: SuiteOptions) =>
      (await import('./suite.ts')).runSuite(await SUITES[name](), folder, options),
    )
}

function renamed(): never {
  throw new InvalidArgumentError('The folder of the report is given by --out.')
}
