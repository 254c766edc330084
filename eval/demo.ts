import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../base/at.ts'
import { createProgress } from '../src/cli/progress.ts'
import { packageRoot } from '../src/config.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import { createHttpClient } from './client/http.ts'
import { startService } from './demo/service.ts'
import { demoTargets, targetRows } from './demo/targets.ts'
import { prepare, type EvaluationOptions } from './prepare.ts'
import { heading, table, text } from './report/blocks.ts'
import { publishedFile, readPublished } from './report/published.ts'
import { buildReport, writeReport } from './report/report.ts'
import { evaluate } from './run/evaluate.ts'
import { readRun } from './run/folder.ts'
import { MODEL_PROTOCOL } from './run/protocol.ts'
import { summarise } from './run/summary.ts'

/** Questions drawn from the test set, so that the demo takes less than five minutes on two cores. */
const QUESTIONS = 200
const CONCURRENCY = 2

const HEADER = ['on the demo test questions', 'target', 'measured', '']

/** Measures the shipped models on the shipped corpus and questions through the HTTP API of a service of its own. */
async function demo(reportFolder: string, limit: number): Promise<void> {
  const questions = (name: string) => path.join(packageRoot(), 'eval', 'questions', name)
  const options: EvaluationOptions = {
    dataset: 'demo',
    questions: questions('test.jsonl'),
    unanswerable: questions('unanswerable.jsonl'),
    limit,
    protocol: {
      modes: ['cepe', 'decoder-only', 'closed-book'],
      ks: [2, 10, 20, 40],
      encoder_passages: ['others'],
      ...MODEL_PROTOCOL,
      retrieval: 'dense',
      recall_depth: 100,
      seed: 0,
    },
    dumpPrompts: false,
  }
  // Always measured anew, with an index of its own: the point is what today's models and service do.
  const folder = path.join(packageRoot(), 'eval', 'runs', 'demo')
  await rm(folder, { recursive: true, force: true })
  const index = path.join(folder, 'index')
  await mkdir(index, { recursive: true })
  const service = await startService(
    {
      CEPE_INDEX_DIR: index,
      CEPE_JOBS_DIR: path.join(index, 'jobs'),
      CEPE_CORPUS: path.join(packageRoot(), 'index', 'corpus', 'passages.tsv'),
      CEPE_LOG_LEVEL: 'warn',
    },
    index,
  )
  try {
    const client = createHttpClient(service.url)
    const prepared = await prepare(options, client)
    const progress = createProgress('Evaluating', 'questions')
    try {
      await evaluate({
        client,
        folder,
        concurrency: CONCURRENCY,
        onProgress: (done, total, detail) => progress.update(done, total, detail),
        ...prepared,
      })
    } finally {
      progress.stop()
    }
  } finally {
    await service.stop()
  }

  const run = await readRun(folder)
  const rows = targetRows(demoTargets(summarise(run.manifest, run.records)))
  const lead = [
    text('The shipped models on the shipped corpus and questions, measured through the HTTP API of a service started for it.'),
    heading(2, 'Targets'),
    table(HEADER, rows, 2),
  ]
  await writeReport(
    buildReport([run], await readPublished(publishedFile()), { title: 'The shipped models on the demo questions', lead }),
    reportFolder,
  )
  process.stdout.write(`${aligned([HEADER, ...rows])}\n\nReport: ${path.join(reportFolder, 'report.md')} and report.html\n`)
}

/** Columns padded to their widest cell. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = HEADER.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(at(widths, i)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

try {
  const { values } = parseArgs({ options: { report: { type: 'string' }, questions: { type: 'string' } } })
  const limit = Number(values.questions ?? QUESTIONS)
  if (!Number.isInteger(limit) || limit < 1)
    throw new CodedError('options_invalid', `--questions takes whole numbers from 1, not ${JSON.stringify(values.questions)}.`)
  await demo(values.report ?? path.join(packageRoot(), 'eval', 'runs', 'demo'), limit)
} catch (thrown) {
  process.stderr.write(
    `eval:demo: ${thrown instanceof CodedError || !(thrown instanceof Error) ? messageOf(thrown) : (thrown.stack ?? thrown.message)}\n`,
  )
  process.exitCode = 1
}
