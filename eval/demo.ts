import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../base/at.ts'
import { packageRoot } from '../src/package.ts'
import { runScript } from './run-script.ts'
import { wholeNumber } from './option-values.ts'
import { createHttpClient } from './client/http.ts'
import { defaultsOf, measure } from './demo/measure.ts'
import { startService } from './demo/service.ts'
import { SURENESS_HEADER, sureAnswers, surenessRows } from './demo/sureness.ts'
import { demoTargets, targetRows, type Subject } from './demo/targets.ts'
import type { EvaluationOptions } from './tasks/open-domain-qa/prepare.ts'
import { heading, table, text } from './report/blocks.ts'
import { readPublished } from './tasks/open-domain-qa/published.ts'
import { writeReport } from './report/report.ts'
import { buildReport } from './tasks/open-domain-qa/report.ts'
import type { StoredRun } from './tasks/open-domain-qa/run.ts'
import { MODEL_PROTOCOL } from './tasks/open-domain-qa/protocol.ts'
import { summarise } from './tasks/open-domain-qa/summary.ts'

/** Questions sampled per class, so that the demo takes less than ten minutes on two cores. */
const QUESTIONS = 200
const CONCURRENCY = 2

const HEADER = ['on the demo test questions', 'target', 'measured', '']

/** Classes of questions, one run each: attributes together with unanswerable questions, and free sentences. */
const CLASSES = [
  { dataset: 'demo, attributes', folder: 'attributes', questions: 'test.jsonl', unanswerable: 'unanswerable.jsonl', closedBook: true },
  { dataset: 'demo, free sentences', folder: 'free', questions: 'free.jsonl', unanswerable: undefined, closedBook: false },
] as const

/** The shipped reader with its defaults: passages that are read separately may be many, those of one prompt are few. */
async function subjectOf(url: string): Promise<Subject> {
  const { method, k } = await defaultsOf(url)
  return { method, k, more: method === 'decoder-only' ? [k + 2] : [2 * k, 4 * k] }
}

/** As given on the command line; `reader`: a built model in place of the shipped one. */
type Options = Partial<Record<'report' | 'questions' | 'reader' | 'calibration', string | undefined>>

/** Measures the models on the shipped corpus and questions through the HTTP API of a separate service. */
async function demo({ report, questions, reader, calibration }: Options): Promise<void> {
  const reportFolder = report ?? path.join(packageRoot(), 'eval', 'runs', 'demo')
  const limit = questions === undefined ? QUESTIONS : wholeNumber('--questions', questions, 1)
  // Always measured again with a new index, to test the present models and service.
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
      ...(reader !== undefined && { CEPE_READER_DIR: path.resolve(reader) }),
      ...(calibration !== undefined && { CEPE_CALIBRATION: path.resolve(calibration) }),
    },
    index,
  )
  const runs: StoredRun[] = []
  let subject: Subject
  try {
    subject = await subjectOf(service.url)
    const client = createHttpClient(service.url)
    for (const which of CLASSES)
      runs.push(
        await measure(client, optionsOf(which, subject, limit), { folder: path.join(folder, which.folder), concurrency: CONCURRENCY }),
      )
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
    text('The models on the shipped corpus and questions, measured through the HTTP API of a service started for it.'),
    heading(2, 'Targets'),
    table(HEADER, rows, 2),
    heading(2, `How sure the answers are (${subject.method}, k = ${subject.k})`),
    table(SURENESS_HEADER, sureness, 4),
  ]
  await writeReport(buildReport(runs, await readPublished(), { title: 'The demo questions', lead }), reportFolder)
  process.stdout.write(
    `${aligned([HEADER, ...rows])}\n\n${aligned([SURENESS_HEADER, ...sureness])}\n\nReport: ${path.join(reportFolder, 'report.md')} and report.html\n`,
  )
}

/** One class of questions, to be asked in its settings. */
function optionsOf(
  { dataset, questions, unanswerable, closedBook }: (typeof CLASSES)[number],
  subject: Subject,
  limit: number,
): EvaluationOptions {
  const file = (name: string) => path.join(packageRoot(), 'eval', 'questions', name)
  return {
    dataset,
    questions: file(questions),
    unanswerable: unanswerable === undefined ? undefined : file(unanswerable),
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
}

/** Pads columns to their widest cell. */
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

const given = { type: 'string' } as const
await runScript('eval:demo', () =>
  demo(parseArgs({ options: { report: given, questions: given, reader: given, calibration: given } }).values),
)
