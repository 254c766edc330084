import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readPassageFile } from '../index/read/read.ts'
import { packageRoot } from '../src/package.ts'
import type { Mode } from '../src/text/plan.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import { createInProcessClient } from './client/in-process.ts'
import { readDataset } from './datasets/read.ts'
import { measure } from './demo/measure.ts'
import { readPublished } from './tasks/open-domain-qa/published.ts'
import { writeReport } from './report/report.ts'
import { buildReport } from './tasks/open-domain-qa/report.ts'
import type { StoredRun } from './tasks/open-domain-qa/run.ts'
import { MODEL_PROTOCOL, type Protocol } from './tasks/open-domain-qa/protocol.ts'
import { summarise } from './tasks/open-domain-qa/summary.ts'

const CONCURRENCY = 2

/** Source of passages; `supplied` is the question's own passage only. */
const RETRIEVALS = ['supplied', 'hybrid'] as const

/** Number of passages to read: those that are read separately may be many, those of one prompt are few. */
function passagesOf(retrieval: (typeof RETRIEVALS)[number], mode: Mode): number[] {
  if (retrieval === 'supplied') return [1]
  return mode === 'decoder-only' ? [3, 5] : [5, 10, 20]
}

/**
 * Evaluates the shipped models on real text that they were not trained on: the questions of `folder` against its passages (passages.tsv,
 * questions.jsonl with passage_id), with their own passage and with retrieved ones.
 */
async function squad(folder: string, out: string, limit: number | undefined): Promise<void> {
  const corpus = path.join(folder, 'passages.tsv')
  const questions = await withOwnPassage(path.join(folder, 'questions.jsonl'), corpus, out)
  const index = path.join(out, 'index')
  const client = await createInProcessClient({ INDEX_DIR: index, JOBS_DIR: path.join(index, 'jobs'), CORPUS: corpus })
  const runs: StoredRun[] = []
  try {
    const mode = client.mode ?? 'cepe'
    for (const retrieval of RETRIEVALS) {
      const protocol: Protocol = {
        modes: [mode],
        ks: passagesOf(retrieval, mode),
        encoder_passages: ['others'],
        ...MODEL_PROTOCOL,
        retrieval,
        recall_depth: retrieval === 'supplied' ? 1 : 20,
        seed: 0,
      }
      const options = { dataset: `real text, ${retrieval}`, questions, limit, protocol, dumpPrompts: false }
      runs.push(await measure(client, options, { folder: path.join(out, retrieval), concurrency: CONCURRENCY }))
    }
  } finally {
    await client.close()
  }
  await writeReport(
    buildReport(runs, await readPublished(), { title: 'The shipped models on real text that they were not trained on' }),
    out,
  )
  process.stdout.write(`${runs.map(shortly).join('\n')}\nReport: ${path.join(out, 'report.md')} and report.html\n`)
}

/** Writes the questions, each with its own passage, to a file. */
async function withOwnPassage(file: string, corpus: string, out: string): Promise<string> {
  const passages = new Map<string, { id: string; title: string; text: string }>()
  for await (const item of readPassageFile(corpus)) if ('passage' in item) passages.set(item.passage.id, item.passage)
  const { questions } = await readDataset(file)
  const lines = questions.flatMap(({ id, question, answers, goldPassage }) => {
    const passage = goldPassage === undefined ? undefined : passages.get(goldPassage)
    return passage === undefined
      ? []
      : [
          `${JSON.stringify({ id, question, answer: answers, passage_id: passage.id, ctxs: [{ id: passage.id, title: passage.title, text: passage.text }] })}\n`,
        ]
  })
  if (lines.length === 0) throw new CodedError('dataset_invalid', `${file} has no question whose passage_id names a passage of ${corpus}.`)
  await mkdir(out, { recursive: true })
  const target = path.join(out, 'questions.jsonl')
  await writeFile(target, lines.join(''))
  return target
}

/** Recall and exact match of a run at every k. */
function shortly({ manifest, records }: StoredRun): string {
  const { settings, retrieval, scored } = summarise(manifest, records)
  const percent = (share: number | undefined) => (100 * (share ?? Number.NaN)).toFixed(1)
  const recalls =
    manifest.subject.protocol.retrieval === 'supplied'
      ? []
      : (retrieval?.recall ?? []).map(({ k, estimate }) => `@${k} ${percent(estimate.mean)}`)
  const scores = settings.map(
    ({ method, k, exactMatch, f1 }) => `${method} k = ${k}: EM ${percent(exactMatch.mean)}, F1 ${percent(f1.mean)}`,
  )
  return `${manifest.subject.dataset}: ${scored} questions; ${[...(recalls.length > 0 ? [`recall ${recalls.join(', ')}`] : []), ...scores].join('; ')}`
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
