import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { at } from '../base/at.ts'
import { createProgress } from '../src/cli/progress.ts'
import { packageRoot } from '../src/package.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import type { AnswerClient } from './client/client.ts'
import { createHttpClient } from './client/http.ts'
import { startService } from './demo/service.ts'
import { SURENESS_HEADER, sureAnswers, surenessRows } from './demo/sureness.ts'
import { demoTargets, targetRows, type Subject } from './demo/targets.ts'
import { prepare, type EvaluationOptions } from './tasks/open-domain-qa/prepare.ts'
import { heading, table, text } from './report/blocks.ts'
import { readPublished } from './tasks/open-domain-qa/published.ts'
import { writeReport } from './report/report.ts'
import { buildReport } from './tasks/open-domain-qa/report.ts'
import { evaluate } from './tasks/open-domain-qa/evaluate.ts'
import { readRun, type StoredRun } from './tasks/open-domain-qa/run.ts'
import { MODEL_PROTOCOL } from './tasks/open-domain-qa/protocol.ts'
import { summarise } from './tasks/open-domain-qa/summary.ts'

/** Questions drawn of each class, so that the demo takes less than ten minutes on two cores. */
const QUESTIONS = 200
const CONCURRENCY = 2

const HEADER = ['on the demo test questions', 'target', 'measured', '']

/** The classes of questions, each a run of its own: attributes with the questions that have no answer beside them, and free sentences. */
const CLASSES = [
  { dataset: 'demo, attributes', folder: 'attributes', questions: 'test.jsonl', unanswerable: 'unanswerable.jsonl', closedBook: true },
  { dataset: 'demo, free sentences', folder: 'free', questions: 'free.jsonl', unanswerable: undefined, closedBook: false },
] as const

const InfoSchema = Type.Object({
  reader: Type.Object({ defaults: Type.Object({ mode: Type.Enum(['cepe', 'decoder-only']), k: Type.Integer() }) }),
})

/** The shipped reader as it is asked by default. An encoder reads many passages, a prompt some more than its own. */
async function subjectOf(url: string): Promise<Subject> {
  const info: unknown = await (await fetch(`${url}/v1/info`)).json()
  const { mode, k } = Value.Parse(InfoSchema, info).reader.defaults
  return { method: mode, k, more: mode === 'cepe' ? [2 * k, 4 * k] : [k + 2] }
}

/** Measures the shipped models on the shipped corpus and questions through the HTTP API of a service of its own. */
async function demo(reportFolder: string, limit: number): Promise<void> {
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
  const runs: StoredRun[] = []
  let subject: Subject
  try {
    subject = await subjectOf(service.url)
    const client = createHttpClient(service.url)
    for (const which of CLASSES) runs.push(await measure(client, { ...which, subject }, path.join(folder, which.folder), limit))
  } finally {
    await service.stop()
  }

  const [attributes, free] = runs
  if (attributes === undefined || free === undefined) throw new Error('The demo did not measure every class. This is a bug.')
  const rows = targetRows(
    demoTargets(summarise(attributes.manifest, attributes.records), summarise(free.manifest, free.records), attributes.records, subject),
  )
  const sureness = surenessRows([...sureAnswers(attributes.records, subject), ...sureAnswers(free.records, subject)])
  const lead = [
    text('The shipped models on the shipped corpus and questions, measured through the HTTP API of a service started for it.'),
    heading(2, 'Targets'),
    table(HEADER, rows, 2),
    heading(2, `How sure the answers are (${subject.method}, k = ${subject.k})`),
    table(SURENESS_HEADER, sureness, 4),
  ]
  await writeReport(buildReport(runs, await readPublished(), { title: 'The shipped models on the demo questions', lead }), reportFolder)
  process.stdout.write(
    `${aligned([HEADER, ...rows])}\n\n${aligned([SURENESS_HEADER, ...sureness])}\n\nReport: ${path.join(reportFolder, 'report.md')} and report.html\n`,
  )
}

/** One class of questions, asked in its settings. */
async function measure(
  client: AnswerClient,
  { dataset, questions, unanswerable, closedBook, subject }: (typeof CLASSES)[number] & { readonly subject: Subject },
  folder: string,
  limit: number,
): Promise<StoredRun> {
  const file = (name: string) => path.join(packageRoot(), 'eval', 'questions', name)
  const options: EvaluationOptions = {
    dataset,
    questions: file(questions),
    ...(unanswerable !== undefined && { unanswerable: file(unanswerable) }),
    limit,
    protocol: {
      modes: closedBook ? [subject.method, 'closed-book'] : [subject.method],
      ks: [subject.k, ...subject.more],
      encoder_passages: ['others'],
      ...MODEL_PROTOCOL,
      retrieval: 'dense',
      recall_depth: 100,
      seed: 0,
    },
    dumpPrompts: false,
  }
  const prepared = await prepare(options, client)
  const progress = createProgress(`Evaluating ${dataset}`, 'questions')
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
  return readRun(folder)
}

/** Columns padded to their widest cell. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = at(rows, 0).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
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
