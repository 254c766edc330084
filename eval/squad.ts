import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readPassageFile } from '../index/read/read.ts'
import { createProgress } from '../src/cli/progress.ts'
import { packageRoot } from '../src/config.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import { createInProcessClient } from './client/in-process.ts'
import { readDataset } from './datasets/read.ts'
import { prepare } from './prepare.ts'
import { publishedFile, readPublished } from './report/published.ts'
import { buildReport, writeReport } from './report/report.ts'
import { evaluate } from './run/evaluate.ts'
import { readRun, type StoredRun } from './run/folder.ts'
import { MODEL_PROTOCOL, type Protocol } from './run/protocol.ts'
import { summarise } from './run/summary.ts'

/** Articles that the shipped models never saw in training (models/tiny/recipe/squad.py). */
const HELD_OUT = ['Amazon rainforest', 'Black Death', 'Kenya', 'Oxygen', 'Rhine', 'Steam engine']
const DEPTH = 20
const CONCURRENCY = 2

/**
 * The shipped models on real text: questions about the held-out articles against all articles of `folder`
 * (passages.tsv, questions.jsonl with passage_id), with Contriever and with BM25 finding the passages.
 */
async function squad(folder: string, out: string, limit: number | undefined): Promise<void> {
  const corpus = path.join(folder, 'passages.tsv')
  const questions = await heldOutQuestions(path.join(folder, 'questions.jsonl'), corpus, out)
  const index = path.join(out, 'index')
  const client = await createInProcessClient({ INDEX_DIR: index, JOBS_DIR: path.join(index, 'jobs'), CORPUS: corpus })
  const runs: StoredRun[] = []
  try {
    for (const retrieval of ['dense', 'text'] as const) {
      const protocol: Protocol = {
        modes: ['cepe', 'decoder-only', 'closed-book'],
        ks: [10, DEPTH, 40],
        encoder_passages: ['others'],
        ...MODEL_PROTOCOL,
        retrieval,
        recall_depth: 100,
        seed: 0,
      }
      const prepared = await prepare(
        { dataset: `held-out articles, ${retrieval}`, questions, ...(limit !== undefined && { limit }), protocol, dumpPrompts: false },
        client,
      )
      const run = path.join(out, retrieval)
      const progress = createProgress(`Evaluating with ${retrieval} retrieval`, 'questions')
      try {
        await evaluate({
          client,
          folder: run,
          concurrency: CONCURRENCY,
          onProgress: (done, total, detail) => progress.update(done, total, detail),
          ...prepared,
        })
      } finally {
        progress.stop()
      }
      runs.push(await readRun(run))
    }
  } finally {
    await client.close()
  }
  await writeReport(
    buildReport(runs, await readPublished(publishedFile()), { title: 'The shipped models on real text: held-out articles of SQuAD' }),
    out,
  )
  process.stdout.write(`${runs.map(shortly).join('\n')}\nReport: ${path.join(out, 'report.md')} and report.html\n`)
}

/** Writes the questions about the held-out articles to a file of their own. */
async function heldOutQuestions(file: string, corpus: string, out: string): Promise<string> {
  const heldOut = new Set<string>()
  for await (const item of readPassageFile(corpus))
    if ('passage' in item && HELD_OUT.includes(item.passage.title)) heldOut.add(item.passage.id)
  const { questions } = await readDataset(file)
  const chosen = questions.filter(({ goldPassage }) => goldPassage !== undefined && heldOut.has(goldPassage))
  if (chosen.length === 0)
    throw new CodedError(
      'dataset_invalid',
      `${file} has no questions about ${HELD_OUT.join(', ')} (passage_id names a passage of ${corpus}).`,
    )
  await mkdir(out, { recursive: true })
  const target = path.join(out, 'questions.jsonl')
  await writeFile(
    target,
    chosen
      .map(({ id, question, answers, goldPassage }) => `${JSON.stringify({ id, question, answer: answers, passage_id: goldPassage })}\n`)
      .join(''),
  )
  return target
}

function shortly({ manifest, records }: StoredRun): string {
  const { settings, retrieval, scored } = summarise(manifest, records)
  const percent = (share: number | undefined) => (100 * (share ?? Number.NaN)).toFixed(1)
  const at = (list: NonNullable<typeof retrieval>['recall'] | undefined) => percent(list?.find(({ k }) => k === DEPTH)?.estimate.mean)
  const cepe = settings.find(({ method, k }) => method === 'cepe' && k === DEPTH)
  return `${manifest.subject.dataset}: ${scored} questions, recall@${DEPTH} ${at(retrieval?.recall)} (own passage ${at(retrieval?.goldRecall)}), cepe k = ${DEPTH}: EM ${percent(cepe?.exactMatch.mean)}, F1 ${percent(cepe?.f1.mean)}`
}

try {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { out: { type: 'string' }, questions: { type: 'string' } } })
  const [folder] = positionals
  if (folder === undefined) throw new CodedError('options_invalid', 'Name the folder with passages.tsv and questions.jsonl.')
  const limit = values.questions === undefined ? undefined : Number(values.questions)
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 1))
    throw new CodedError('options_invalid', `--questions takes whole numbers from 1, not ${JSON.stringify(values.questions)}.`)
  await squad(folder, values.out ?? path.join(packageRoot(), 'eval', 'runs', 'squad'), limit)
} catch (thrown) {
  process.stderr.write(
    `eval squad: ${thrown instanceof CodedError || !(thrown instanceof Error) ? messageOf(thrown) : (thrown.stack ?? thrown.message)}\n`,
  )
  process.exitCode = 1
}
