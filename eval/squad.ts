import path from 'node:path'
import { at, present } from '../base/at.ts'
import type { Services } from '../src/service/services.ts'
import { servicesClient, startServices } from './client/in-process.ts'
import { finishScript, measure, runScript, type ScriptOptions } from './demo/script.ts'
import { listedWords, wholeNumber } from './task/options.ts'
import { SURENESS_HEADER, sureAnswers, surenessRows } from './demo/sureness.ts'
import { heading, table, text, type Block } from './report/blocks.ts'
import { askArticles, type ArticleScores, askings, optionsOf, realQuestions, withoutAnswers } from './squad/questions.ts'
import type { StoredRun } from './tasks/open-domain-qa/record.ts'
import { summarise } from './tasks/open-domain-qa/summary.ts'

const CONCURRENCY = 2

interface Measured {
  readonly runs: readonly StoredRun[]
  /** Rows of the table of certainty. */
  readonly sureness: readonly (readonly string[])[]
  readonly articles: ArticleScores
}

async function askAll(services: Services, { folder, out, limit, given }: ScriptOptions): Promise<Measured> {
  const ks = given('k') === undefined ? undefined : listedWords(given('k') ?? '').map((k) => wholeNumber('--k', k, 1))
  const { answered, unanswered, isAnsweredBy, articleOf } = await realQuestions(folder, out, limit)
  const client = servicesClient(services)
  const { mode } = await present(client.defaults)()
  const runs: StoredRun[] = []
  const sureness: string[][] = []
  for (const asking of askings(mode, client.hasEncoder ?? false, ks)) {
    const folderOf = (name: string) => ({ folder: path.join(out, name), concurrency: CONCURRENCY })
    const run = await measure(client, optionsOf(asking, { mode, questions: answered, limit }), folderOf(asking.name))
    runs.push(run)
    if (asking.kDecoder === 0) continue
    const k = at(asking.ks, 0)
    const other = { ...asking, name: `${asking.name}, no answer`, ks: [k] }
    const without = await measure(
      withoutAnswers(client, isAnsweredBy),
      optionsOf(other, { mode, questions: unanswered, limit: undefined }),
      folderOf(other.name),
    )
    const rows = surenessRows(sureAnswers([...run.records, ...without.records], { method: mode, k }))
    sureness.push(...rows.map((row) => [asking.name, ...row]))
  }
  const asked = at(runs, 0).records.filter(({ skipped }) => !skipped)
  return { runs, sureness, articles: await askArticles(asked, articleOf, services.documents.services, CONCURRENCY) }
}

function leadOf({ sureness, articles }: Measured): Block[] {
  return [
    heading(2, 'How sure the answers are'),
    text(
      'With the fewest passages of each retrieval. Where no passage has the answer, it is another one of the article (supplied), or those that were retrieved and do not contain it.',
    ),
    table(['passages', ...SURENESS_HEADER], sureness, 5),
    heading(2, 'A whole article in the request'),
    text(`${articleLine(articles)}.`),
  ]
}

function articleLine({ exactMatch, f1, characters }: ArticleScores): string {
  const percent = (share: number) => (100 * share).toFixed(1)
  return `POST /v1/documents/answer, ${exactMatch.n} questions, articles of ${Math.round(characters / 1000)},000 characters on average: EM ${percent(exactMatch.mean)} (${percent(exactMatch.low)}, ${percent(exactMatch.high)}), F1 ${percent(f1.mean)} (${percent(f1.low)}, ${percent(f1.high)})`
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

/**
 * Evaluates the models on real text that they were not trained on: the questions of `folder` against its passages (passages.tsv,
 * questions.jsonl with passage_id), with their own passage, with retrieved ones and with their whole article. Some are also asked with
 * passages that do not contain the answer, to tell how well the probability separates right answers from all others.
 */
await runScript('eval:squad', { options: ['out', 'questions', 'k'], folder: 'with passages.tsv and questions.jsonl' }, async (options) => {
  const { folder, out } = options
  const index = path.join(out, 'index')
  const corpus = path.join(folder, 'passages.tsv')
  const services = await startServices({ INDEX_DIR: index, JOBS_DIR: path.join(index, 'jobs'), CORPUS: corpus })
  let measured: Measured
  try {
    measured = await askAll(services, options)
  } finally {
    await services.close()
  }
  await finishScript(options, measured.runs, {
    title: 'Real text that the models were not trained on',
    lead: leadOf(measured),
    lines: [...measured.runs.map(shortly), articleLine(measured.articles), ...measured.sureness.map((row) => row.join('  '))],
  })
})
