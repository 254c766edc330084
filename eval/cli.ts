#!/usr/bin/env node
import { Command } from 'commander'
import path from 'node:path'
import { wholeNumber } from '../src/cli/numbers.ts'
import { createProgress } from '../src/cli/progress.ts'
import { runProgram } from '../src/cli/run-program.ts'
import type { AnswerClient } from './client/client.ts'
import { connectTo } from './client/connect.ts'
import { compareRuns, comparisonBlocks } from './compare.ts'
import { describeProblem } from './datasets/problems.ts'
import { defaultFolder, parseOptions, type RawOptions } from './options.ts'
import { chooseRetrieval, prepare } from './prepare.ts'
import { toMarkdown } from './report/blocks.ts'
import { publishedFile, readPublished } from './report/published.ts'
import { reportRuns } from './report/report.ts'
import { evaluate } from './run/evaluate.ts'
import { readRun, taskOfRun } from './run/folder.ts'
import { ropeCommand } from './task/rope.ts'
import { allCommand } from './task/all.ts'
import { taskCommand } from './task/command.ts'
import { compareTaskRuns } from './task/compare.ts'
import { readRunOf } from './task/read.ts'
import { reportTaskRuns } from './task/report.ts'
import { TASKS } from './tasks/list.ts'

interface RunOptions extends RawOptions {
  readonly url?: string
  readonly key?: string
  readonly out?: string
  readonly concurrency: number
  readonly published: string
}

const program = new Command('cepe eval')
  .description(
    "Evaluate on open-domain question answering: the paper's Table 7 and Figure 3 for any checkpoint, corpus and question file. Repeating a command goes on with an unfinished run.",
  )
  .option('--dataset <name|file>', 'nq, triviaqa, popqa, or a question file')
  .option(
    '--questions <file>',
    'the question file as published (NQ-open JSONL, TriviaQA JSON, PopQA TSV, CEPE/FiD/Contriever/DPR JSON or JSONL; .gz too)',
  )
  .option('--passages <file>', 'retrieved passages (a file with ctxs) instead of searching the index')
  .option('--train <file>', 'file that demonstrations are drawn from (PopQA: the question file by default)')
  .option('--unanswerable <file>', 'questions without an answer in the corpus, to judge the confidence by')
  .option('--k <numbers>', 'passages per question, a list', '10,20,30,60')
  .option('--modes <list>', 'cepe, decoder-only, replug, closed-book', 'cepe,decoder-only,closed-book')
  .option(
    '--encoder-passages <list>',
    'variants of cepe: others (what the decoder does not hold is encoded), all (everything is)',
    'others',
  )
  .option(
    '--protocol <name>',
    "paper: 2 demonstrations, 10 passages in the decoder, 256 tokens per passage, 25 new tokens; paper-exact: prompts cut as the published evaluation cuts them, too (docs/evaluation.md); model: the served model's own",
    'paper',
  )
  .option('--table <number>', "7: the paper's modes, each with its own k")
  .option('--shots <number|service>', 'demonstrations per question')
  .option('--k-decoder <number|service>', 'passages in the decoder prompt')
  .option('--context-tokens <number|service>', 'tokens kept of each passage')
  .option('--max-new-tokens <number|service>', 'longest answer')
  .option(
    '--retrieval <method>',
    "dense, text (BM25), hybrid, or supplied (the questions' own ctxs); by default supplied where the question file has ctxs, else dense",
  )
  .option('--recall-depth <number>', 'passages retrieved for recall', '100')
  .option('--limit <number>', 'questions drawn from the file')
  .option('--seed <number>', 'of demonstrations, question sample and bootstrap', '0')
  .option('--concurrency <number>', 'questions asked at a time', wholeNumber({ min: 1 }), 2)
  .option('--url <address>', 'evaluate a running service instead of starting the pipeline here')
  .option('--key <key>', "a key of that service; better in CEPE_KEY, since a machine's users see each other's command lines")
  .option('--dump-prompts', 'keep the rendered prompts in predictions.jsonl')
  .option('--published <file>', "published scores to set beside the run's own", publishedFile())
  .option('--out <folder>', 'run folder (default: eval/runs/<dataset>-<hash of the options>)')
  .showHelpAfterError('(see --help)')
  .enablePositionalOptions()
  .action(runEvaluation)

program
  .command('compare <runA> <runB>')
  .description('paired differences and significance between two runs on the same questions')
  .action(async (runA: string, runB: string) => {
    const blocks =
      (await taskOfRun(runA)) === undefined
        ? comparisonBlocks(compareRuns(await readRun(runA), await readRun(runB)))
        : compareTaskRuns(await readRunOf(runA), await readRunOf(runB))
    process.stdout.write(toMarkdown(blocks))
  })

program
  .command('report <runs...>')
  .description('write the report of one run, or of several as columns of one table')
  .option('--out <folder>', "where to (default: the first run's folder)")
  .option('--published <file>', "published scores to set beside the runs' own", publishedFile())
  .action(async (runs: string[], options: { out?: string; published: string }) => {
    const out = options.out ?? runs[0] ?? '.'
    if (runs[0] !== undefined && (await taskOfRun(runs[0])) !== undefined) await reportTaskRuns(runs, out)
    else await reportRuns(runs, out, await readPublished(options.published))
    process.stderr.write(`${path.join(out, 'report.md')}\n`)
  })

for (const task of TASKS) program.addCommand(taskCommand(task))
program.addCommand(allCommand())
program.addCommand(ropeCommand())

/** The whole pipeline is loaded only where it runs in this process. */
async function connect({ url, key }: Pick<RunOptions, 'url' | 'key'>, retrieval: string): Promise<AnswerClient> {
  if (url !== undefined) return connectTo(url, key)
  const { createInProcessClient, createReadingClient } = await import('./client/in-process.ts')
  return retrieval === 'supplied' ? createReadingClient() : createInProcessClient()
}

async function runEvaluation(raw: RunOptions): Promise<void> {
  const options = await chooseRetrieval(parseOptions(raw))
  const published = await readPublished(raw.published)
  const folder = raw.out ?? defaultFolder(options, raw.url)
  const client = await connect(raw, options.protocol.retrieval)
  try {
    const { manifest, questions, pool } = await prepare(options, client)
    for (const problem of manifest.data.problems) process.stderr.write(`${describeProblem(problem)}\n`)
    const progress = createProgress('Evaluating', 'questions')
    try {
      await evaluate({
        client,
        folder,
        manifest,
        questions,
        pool,
        concurrency: raw.concurrency,
        onProgress: (done, total, detail) => progress.update(done, total, detail),
      })
    } finally {
      progress.stop()
    }
  } finally {
    await client.close()
  }
  await reportRuns([folder], folder, published)
  process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
}

await runProgram(program)
