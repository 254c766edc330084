import path from 'node:path'
import { at, present } from '../base/at.ts'
import type { AnswerClient } from './client/client.ts'
import { packageRoot } from '../src/package.ts'
import { createHttpClient } from './client/http.ts'
import { questionFile } from './datasets/shipped.ts'
import { finishScript, measure, runScript, withService } from './demo/script.ts'
import { demoTargets, type Subject, SURENESS_HEADER, sureAnswers, surenessRows, targetRows } from './demo/sureness.ts'
import { heading, table, text } from './report/blocks.ts'
import type { EvaluationOptions } from './tasks/open-domain-qa/prepare.ts'
import { modelProtocol } from './tasks/open-domain-qa/protocol.ts'
import { summarise } from './tasks/open-domain-qa/summary.ts'

/** Questions sampled per class, so that the demo takes less than ten minutes on two cores. */
const QUESTIONS = 200
const CONCURRENCY = 2

const HEADER = ['on the demo test questions', 'target', 'measured', '']

/** Classes of questions, one run each: attributes together with unanswerable questions, and free sentences. */
const CLASSES = {
  attributes: {
    dataset: 'demo, attributes',
    folder: 'attributes',
    questions: 'test.jsonl',
    unanswerable: 'unanswerable.jsonl',
    closedBook: true,
  },
  free: { dataset: 'demo, free sentences', folder: 'free', questions: 'free.jsonl', unanswerable: undefined, closedBook: false },
} as const

/** The shipped reader with its defaults: passages that are read separately may be many, those of one prompt are few. */
async function subjectOf(client: AnswerClient): Promise<Subject> {
  const { mode: method, k } = await present(client.defaults)()
  return { method, k, more: method === 'decoder-only' ? [k + 2] : [2 * k, 4 * k] }
}

/** One class of questions, to be asked in its settings. */
function optionsOf(
  { dataset, questions, unanswerable, closedBook }: Omit<(typeof CLASSES)[keyof typeof CLASSES], 'folder'>,
  { method, k, more }: Subject,
  limit: number,
): EvaluationOptions {
  return {
    dataset,
    questions: questionFile(questions),
    unanswerable: unanswerable === undefined ? undefined : questionFile(unanswerable),
    limit,
    protocol: modelProtocol(closedBook ? [method, 'closed-book'] : [method], [k, ...more], 'dense', 100),
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

/** Measures the models on the shipped corpus and questions through the HTTP API of a separate service. */
await runScript('eval:demo', { options: ['report', 'questions', 'reader', 'calibration'] }, async (options) => {
  const [reader, calibration] = [options.given('reader'), options.given('calibration')]
  const settings = {
    CEPE_CORPUS: path.join(packageRoot(), 'index', 'corpus', 'passages.tsv'),
    ...(reader !== undefined && { CEPE_READER_DIR: path.resolve(reader) }),
    ...(calibration !== undefined && { CEPE_CALIBRATION: path.resolve(calibration) }),
  }
  const { attributes, free, subject } = await withService('demo', { settings }, async (url, work) => {
    const client = createHttpClient(url)
    const subject = await subjectOf(client)
    const run = ({ folder, ...which }: (typeof CLASSES)[keyof typeof CLASSES]) =>
      measure(client, optionsOf(which, subject, options.limit ?? QUESTIONS), {
        folder: path.join(work, folder),
        concurrency: CONCURRENCY,
      })
    return { attributes: await run(CLASSES.attributes), free: await run(CLASSES.free), subject }
  })
  const rows = targetRows(
    demoTargets(summarise(attributes.manifest, attributes.records), summarise(free.manifest, free.records), attributes.records, subject),
  )
  const sureness = surenessRows([...sureAnswers(attributes.records, subject), ...sureAnswers(free.records, subject)])
  await finishScript(options, [attributes, free], {
    title: 'The demo questions',
    lead: [
      text('The models on the shipped corpus and questions, measured through the HTTP API of a service started for it.'),
      heading(2, 'Targets'),
      table(HEADER, rows, 2),
      heading(2, `How sure the answers are (${subject.method}, k = ${subject.k})`),
      table(SURENESS_HEADER, sureness, 4),
    ],
    lines: [`${aligned([HEADER, ...rows])}\n\n${aligned([SURENESS_HEADER, ...sureness])}\n`],
  })
})
