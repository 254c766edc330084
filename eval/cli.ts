#!/usr/bin/env node
import { Command } from 'commander'
import { wholeNumber } from '../src/cli/program/options.ts'
import { runProgram } from '../src/cli/program/run-program.ts'
import type { RunOptions } from './run-command.ts'
import { suiteCommand } from './suites/command.ts'
import { allCommand, ropeCommand, taskCommand } from './task/commands/commands.ts'
import { TASKS } from './tasks/list.ts'

const program = new Command('cepe eval')
  .description(
    "Evaluate on open-domain question answering: the paper's Table 7 and Figure 3 for any checkpoint, corpus and question file. Running a command again resumes an unfinished run.",
  )
  .option('--dataset <name|file>', 'nq, triviaqa, popqa, or a question file')
  .option(
    '--questions <file>',
    'the question file as published (NQ-open JSONL, TriviaQA JSON, PopQA TSV, CEPE/FiD/Contriever/DPR JSON or JSONL; .gz too)',
  )
  .option('--passages <file>', 'retrieved passages (a file with ctxs) instead of searching the index')
  .option('--train <file>', 'file to sample demonstrations from (default for PopQA: the question file)')
  .option('--unanswerable <file>', 'unanswerable questions, to evaluate the confidence')
  .option('--k <numbers>', 'passages per question, a list', '10,20,30,60')
  .option('--modes <list>', 'cepe, decoder-only, map-rerank, experts, replug, closed-book', 'cepe,decoder-only,closed-book')
  .option('--encoder-passages <list>', 'passages for the encoder in mode cepe: others (those outside the prompt), all', 'others')
  .option(
    '--protocol <name>',
    "paper: 2 demonstrations, 10 passages in the decoder, 256 tokens per passage, 25 new tokens; paper-exact: prompts cut as the published evaluation cuts them, too (docs/evaluation.md); model: the served model's own (qa_config.json), its mode and k too where --modes and --k are not given",
    'paper',
  )
  .option(
    '--table <number>',
    "a table of CEPE's paper, row by row: 1, 2, 3, 4, 6, 7, 8, 11, 12, 13; takes --data, --columns, --as, --limit, --plan, --out",
  )
  .option('--giraffe <number>', "a table of Giraffe's paper, as it numbers them: 1 to 9; takes the same options")
  .option('--pi <number>', "a table of Position Interpolation's paper: 1 to 6; takes the same options")
  .option('--data <folder>', "with a paper's table: the folder of the data files")
  .option('--columns <list>', "with a paper's table: columns of the table (default: all)")
  .option('--as <model>', "with a paper's table: the table's model that the configured one represents (default: by its name)")
  .option('--plan', "only estimate the cost; with a paper's table also show rows, models and data files (with --data: and the cost)")
  .option('--yes', 'run even if it takes more than a day by the estimate')
  .option('--shots <number|service>', 'demonstrations per question')
  .option('--k-decoder <number|service>', 'passages in the decoder prompt')
  .option('--context-tokens <number|service>', 'maximum tokens of each passage')
  .option('--max-new-tokens <number|service>', 'longest answer')
  .option(
    '--retrieval <method>',
    "dense, text (BM25), hybrid, or supplied (the questions' own ctxs); by default supplied where the question file has ctxs, else dense",
  )
  .option('--recall-depth <number>', 'passages retrieved for recall', '100')
  .option('--limit <number>', "questions to sample from the file; with a paper's table: items per cell")
  .option('--seed <number>', 'seed of demonstrations, question sample and bootstrap', '0')
  .option('--concurrency <number>', 'questions asked at a time', wholeNumber({ min: 1 }), 2)
  .option('--url <address>', 'evaluate a running service instead of starting the pipeline here')
  .option('--key <key>', "a key of that service; better in CEPE_KEY, since a machine's users see each other's command lines")
  .option('--dump-prompts', 'store the rendered prompts in predictions.jsonl')
  .option('--published <file>', "published scores to compare with (default: the paper's)")
  .option('--out <folder>', 'run folder (default: eval/runs/<dataset>-<hash of the options>)')
  .showHelpAfterError('(see --help)')
  .enablePositionalOptions()
  .action(async (options: RunOptions, command: Command) => (await import('./run-command.ts')).runEvaluation(options, command))

program
  .command('compare <runA> <runB>')
  .description('paired differences and significance between two runs on the same questions')
  .action(async (runA: string, runB: string) => (await import('./run-command.ts')).printComparison(runA, runB))

program
  .command('report <runs...>')
  .description('write the report of one run, or of several as columns of one table')
  .option('--out <folder>', "output folder (default: the first run's)")
  .option('--published <file>', "published scores to compare with (default: the paper's)")
  .action(async (runs: string[], options: { out?: string; published?: string }) =>
    (await import('./run-command.ts')).writeReports(runs, options),
  )

for (const task of TASKS) program.addCommand(taskCommand(task))
program.addCommand(allCommand())
program.addCommand(ropeCommand())
program.addCommand(suiteCommand())

await runProgram(program)
