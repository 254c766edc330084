import path from 'node:path'
import { parseArgs } from 'node:util'
import { at } from '../base/at.ts'
import { packageRoot } from '../src/package.ts'
import type { Mode } from '../src/text/plan.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import type { AnswerClient } from './client/client.ts'
import { createInProcessClient } from './client/in-process.ts'
import { measure } from './demo/measure.ts'
import { SURENESS_HEADER, sureAnswers, surenessRows } from './demo/sureness.ts'
import { heading, table, text } from './report/blocks.ts'
import { readPublished } from './tasks/open-domain-qa/published.ts'
import { writeReport } from './report/report.ts'
import { buildReport } from './tasks/open-domain-qa/report.ts'
import type { EvaluationOptions } from './tasks/open-domain-qa/prepare.ts'
import type { StoredRun } from './tasks/open-domain-qa/run.ts'
import { realQuestions, type RealQuestions } from './squad/questions.ts'
import { MODEL_PROTOCOL, type Protocol } from './tasks/open-domain-qa/protocol.ts'
import { summarise } from './tasks/open-domain-qa/summary.ts'

const CONCURRENCY = 2
const RECALL_DEPTH = 20

/** Source of passages; `supplied` is the question's own passage only. */
const RETRIEVALS = ['supplied', 'hybrid'] as const

/** Number of passages to read: those that are read separately may be many, those of one prompt are few. */
function passagesOf(retrieval: (typeof RETRIEVALS)[number], mode: Mode): number[] {
  if (retrieval === 'supplied') return [1]
  return mode === 'decoder-only' ? [3, 5] : [5, 10, 20]
}

/** Passages per question as the reader is asked by default. */
function defaultPassages(retrieval: (typeof RETRIEVALS)[number], mode: Mode): number {
  return at(passagesOf(retrieval, mode), 0)
}

/**
 * Evaluates the shipped models on real text that they were not trained on: the questions of `folder` against its passages (passages.tsv,
 * questions.jsonl with passage_id), with their own passage and with retrieved ones. Some are also asked with passages that do not contain
 * the answer, to tell how well the probability separates right answers from all others.
 */
async function squad(folder: string, out: string, limit: number | undefined): Promise<void> {
  const { answered, unanswered, isAnsweredBy } = await realQuestions(folder, out)
  const index = path.join(out, 'index')
  const corpus = path.join(folder, 'passages.tsv')
  const client = await createInProcessClient({ INDEX_DIR: index, JOBS_DIR: path.join(index, 'jobs'), CORPUS: corpus })
  const runs: StoredRun[] = []
  const sureness: string[][] = []
  try {
    const mode = client.mode ?? 'cepe'
    for (const retrieval of RETRIEVALS) {
      const k = defaultPassages(retrieval, mode)
      const ask = (asking: AnswerClient, name: string, asked: Pick<Asked, 'questions' | 'ks' | 'limit'>) =>
        measure(asking, optionsOf({ ...asked, dataset: `real text, ${name}`, mode, retrieval }), {
          folder: path.join(out, name),
          concurrency: CONCURRENCY,
        })
      const run = await ask(client, retrieval, { questions: answered, ks: passagesOf(retrieval, mode), limit })
      const without = await ask(withoutAnswers(client, isAnsweredBy), `${retrieval}, no answer`, {
        questions: unanswered,
        ks: [k],
        limit: undefined,
      })
      runs.push(run)
      sureness.push(
        ...surenessRows(sureAnswers([...run.records, ...without.records], { method: mode, k })).map((row) => [retrieval, ...row]),
      )
    }
  } finally {
    await client.close()
  }
  const lead = [
    heading(2, 'How sure the answers are'),
    text(
      'With the fewest passages of each retrieval. Questions without a passage with the answer have another one of its article (supplied), or the retrieved ones that do not contain it.',
    ),
    table(['passages', ...SURENESS_HEADER], sureness, 5),
  ]
  const title = 'The shipped models on real text that they were not trained on'
  await writeReport(buildReport(runs, await readPublished(), { title, lead }), out)
  process.stdout.write(
    `${runs.map(shortly).join('\n')}\n${sureness.map((row) => row.join('  ')).join('\n')}\nReport: ${path.join(out, 'report.md')} and report.html\n`,
  )
}

interface Asked {
  readonly dataset: string
  readonly questions: string
  readonly limit: number | undefined
  readonly mode: Mode
  readonly ks: number[]
  readonly retrieval: (typeof RETRIEVALS)[number]
}

function optionsOf({ dataset, questions, limit, mode, ks, retrieval }: Asked): EvaluationOptions {
  const protocol: Protocol = {
    modes: [mode],
    ks,
    encoder_passages: ['others'],
    ...MODEL_PROTOCOL,
    retrieval,
    recall_depth: retrieval === 'supplied' ? 1 : RECALL_DEPTH,
    seed: 0,
  }
  return { dataset, questions, limit, protocol, dumpPrompts: false }
}

/** The pipeline over a corpus without the passages that answer a question. */
function withoutAnswers(client: AnswerClient, isAnsweredBy: RealQuestions['isAnsweredBy']): AnswerClient {
  return {
    ...client,
    search: async (request) => {
      const { k = RECALL_DEPTH, query } = request
      const found = await client.search({ ...request, k: 2 * k })
      return { ...found, passages: found.passages.filter((passage) => !isAnsweredBy.get(query)?.(passage)).slice(0, k) }
    },
  }
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
