import { Command } from 'commander'
import { decimal, wholeNumber } from '../src/cli/program/options.ts'
import { runProgram } from '../src/cli/program/run-program.ts'
import type { CalibrateOptions } from './calibrate/run-command.ts'

const program = new Command('cepe calibrate')
  .description('fit the calibration of probability_correct on questions with answers and on unanswerable ones')
  .argument(
    '[questions...]',
    'question files, as for cepe eval; a question without an answer is unanswerable (default: the shipped questions, over the shipped corpus)',
  )
  .option('--unanswerable <files...>', 'files of questions that the corpus does not answer; their answers are ignored', [])
  .option('--k <numbers>', "passages per question, a list (default: the model's own)")
  .option(
    '--unanswerable-share <number>',
    'assumed share of unanswerable questions (default: as in the files)',
    decimal({ min: 0.001, max: 0.999 }),
  )
  .option('--model <built>', 'folder of a built reader, instead of the configured one')
  .option('--url <address>', 'ask a running service instead of starting the pipeline here; needs --out')
  .option('--key <key>', "a key of that service; better in CEPE_KEY, since a machine's users see each other's command lines")
  .option('--out <file>', 'output file (default: calibration.<table>.json in the index folder, where the service reads it)')
  .option('--limit <number>', 'questions to ask, evenly spaced over the files (default: all)', wholeNumber({ min: 1 }))
  .option('--concurrency <number>', 'questions asked at a time', wholeNumber({ min: 1 }), 2)
  .showHelpAfterError('(see --help)')
  .action(async (files: string[], options: CalibrateOptions) => (await import('./calibrate/run-command.ts')).calibrate(files, options))

await runProgram(program)
