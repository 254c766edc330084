import path from 'node:path'
import pLimit from 'p-limit'
import { at, present } from '../../base/at.ts'
import { writeFileDurably } from '../../base/durable.ts'
import { answerDocument, type DocumentServices } from '../../src/rag/document.ts'
import type { AnswerClient } from '../client/client.ts'
import { type EvalPassage, type EvalQuestion, ProblemLog, spread } from '../datasets/question-set.ts'
import { readCorpus, readDataset } from '../datasets/read.ts'
import { invalidDataset } from '../datasets/records.ts'
import { bestOver, exactMatch, f1 } from '../metrics/answer.ts'
import { answerFinder } from '../metrics/retrieval.ts'
import { heading, text } from '../report/blocks.ts'
import { problemBlock } from '../report/report.ts'
import { estimateShare } from '../statistics/bootstrap.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'
import type { EvalRecord, StoredRun } from '../tasks/open-domain-qa/record.ts'
import { withInterval } from '../tasks/open-domain-qa/tables.ts'
import type { Suite } from './suite.ts'
import { type SureAnswer, sureAnswers, surenessTable } from './sureness.ts'

const CONCURRENCY = 2
const RECALL_DEPTH = 40
const ENCODED_PASSAGES = 10
/** Questions that are asked without a passage that answers them, as a share of those that are asked with one. */
const UNANSWERED = 0.5

/**
 * Real text, which the shipped models were not trained on: the questions of a folder with their own passage, with retrieved ones and with their whole
 * article. Some are also asked with passages that do not contain the answer, to measure how well certainty separates right answers from all
 * others.
 */
export const squad: Suite = {
  name: 'squad',
  title: 'Questions about real text',
  folder: 'with passages.tsv and questions.jsonl',
  isShipped: false,
  corpus: (folder) => path.join(folder, 'passages.tsv'),
  concurrency: CONCURRENCY,
  ks: ({ mode }) => (mode === 'decoder-only' ? [3, 5] : [5, 10, 20, 40]),
  measure: async ({ folder, work, services, client, mode, limit, ks, ask }) => {
    const { answered, unanswered, problems, isAnsweredBy, articleOf } = await realQuestions(folder, work, limit)
    const runs: StoredRun[] = []
    const sureness: [string[], SureAnswer[]][] = []
    for (const { name, retrieval, ks: ofRun, isEncoderAlone } of settings(ks, client.hasEncoder ?? false)) {
      const optionsOf = (run: string, questions: string, ks: readonly number[]) => {
        const protocol = modelProtocol([mode], [...ks], retrieval, retrieval === 'supplied' ? 1 : RECALL_DEPTH)
        const asked = { ...protocol, ...(isEncoderAlone && { k_decoder: 0 }) }
        return { dataset: `real text, ${run}`, questions, dumpPrompts: false, protocol: asked }
      }
      const run = await ask(name, { ...optionsOf(name, answered, ofRun), limit })
      runs.push(run)
      if (isEncoderAlone) continue
      const [other, k] = [`${name}, no answer`, at(ofRun, 0)]
      const without = await ask(other, optionsOf(other, unanswered, [k]), withoutAnswers(client, isAnsweredBy))
      sureness.push([[name], sureAnswers([...run.records, ...without.records], mode, k)])
    }
    const asked = at(runs, 0).records.filter(({ skipped }) => !skipped)
    return {
      runs,
      lead: [
        problemBlock(problems),
        heading(2, 'How sure the answers are'),
        text(
          'With the fewest passages of each retrieval. Where no passage has the answer, it is another one of the article (supplied), or those that were retrieved and do not contain it.',
        ),
        surenessTable(sureness),
        heading(2, 'A whole article in the request'),
        text(await articleScores(asked, articleOf, services.documents.services)),
      ],
    }
  },
}

/** The runs; `supplied` is the question's own passage. Those through the encoder alone need a reader with one. */
export function settings(ks: readonly number[], hasEncoder: boolean) {
  const all = [
    { name: 'supplied', retrieval: 'supplied', ks: [1], isEncoderAlone: false },
    { name: 'supplied, encoder alone', retrieval: 'supplied', ks: [1], isEncoderAlone: true },
    { name: 'hybrid', retrieval: 'hybrid', ks, isEncoderAlone: false },
    { name: 'hybrid, encoder alone', retrieval: 'hybrid', ks: [ENCODED_PASSAGES], isEncoderAlone: true },
  ] as const
  return all.filter(({ isEncoderAlone }) => hasEncoder || !isEncoderAlone)
}

type Answers = (passage: Pick<EvalPassage, 'id' | 'title' | 'text'>) => boolean

/**
 * Writes the questions of `folder` (questions.jsonl with passage_id, passages.tsv) to files of `out`: each with its own passage, and some
 * with a passage of the same article that does not contain the answer.
 * @param most questions to be asked; undefined: all
 * @returns the problems of both files; by question also whether a passage contains the answer, and all passages of its article as one text
 * @throws dataset_invalid if no question names a passage
 */
export async function realQuestions(folder: string, out: string, most = Infinity) {
  const { passages, byTitle, problems: ofPassages } = await readCorpus(path.join(folder, 'passages.tsv'))
  const { questions, problems: ofQuestions } = await readDataset(path.join(folder, 'questions.jsonl'))
  const problems = new ProblemLog()
  const places = new Map(passages.map(({ id }, place) => [id, place]))
  const named = questions.flatMap((question) => {
    const place = places.get(question.goldPassage ?? '')
    if (place === undefined) problems.add('question whose passage_id names no passage', question.id)
    return place === undefined ? [] : [{ question, place, own: at(passages, place), answers: answeredBy(question) }]
  })
  if (named.length === 0) throw invalidDataset(`${folder} has no question whose passage_id names a passage of passages.tsv.`)
  const article = (title: string) => (byTitle.get(title) ?? []).map(({ text }) => text).join('\n\n')
  const others = named.flatMap(({ question, place, answers }) => {
    const other = neighbour(passages, place, answers)
    return other === undefined ? [] : [line(question, other, 'no passage with the answer')]
  })
  const files = { answered: path.join(out, 'questions.jsonl'), unanswered: path.join(out, 'unanswered.jsonl') }
  await writeFileDurably(files.answered, named.map(({ question, own }) => line(question, own, 'answered by a passage')).join(''))
  await writeFileDurably(files.unanswered, spread(others, Math.ceil(UNANSWERED * Math.min(most, named.length))).join(''))
  return {
    ...files,
    problems: [...ofPassages, ...ofQuestions, ...problems.list()],
    isAnsweredBy: new Map(named.map(({ question, answers }) => [question.question, answers])),
    articleOf: new Map(named.map(({ question, own: { title } }) => [question.question, { title, text: article(title) }])),
  }
}

function answeredBy({ answers, goldPassage }: EvalQuestion): Answers {
  const holdsAnswer = answerFinder(answers)
  return ({ id, title, text }) => id === goldPassage || holdsAnswer(`${title} ${text}`)
}

/** The nearest passage of the same article that does not answer, the next rather than the one before. */
function neighbour(passages: readonly EvalPassage[], place: number, isAnsweredBy: Answers): EvalPassage | undefined {
  const { title } = at(passages, place)
  return passages
    .map((passage, i) => ({ passage, distance: Math.abs(i - place) - (i > place ? 0.5 : 0) }))
    .filter(({ passage }) => passage.title === title && !isAnsweredBy(passage))
    .sort((a, b) => a.distance - b.distance)[0]?.passage
}

function line({ id, question, answers, goldPassage }: EvalQuestion, { id: passage, title, text }: EvalPassage, which: string): string {
  return `${JSON.stringify({ id, question, answer: answers, passage_id: goldPassage, class: which, ctxs: [{ id: passage, title, text }] })}\n`
}

/** The pipeline over a corpus without the passages that answer a question. */
export function withoutAnswers(client: AnswerClient, isAnsweredBy: ReadonlyMap<string, Answers>): AnswerClient {
  return {
    ...client,
    search: async (request) => {
      const { k = RECALL_DEPTH, query } = request
      const found = await client.search({ ...request, k: 2 * k })
      return { ...found, passages: found.passages.filter((passage) => !isAnsweredBy.get(query)?.(passage)).slice(0, k) }
    },
  }
}

/** Asks questions with their whole article in the request, as POST /v1/documents/answer, and describes the scores. */
async function articleScores(
  records: readonly EvalRecord[],
  articleOf: ReadonlyMap<string, Pick<EvalPassage, 'title' | 'text'>>,
  services: DocumentServices,
): Promise<string> {
  const asked = await pLimit(CONCURRENCY).map(records, async ({ id, question, answers }) => {
    const article = present(articleOf.get(question))
    const load = () => Promise.resolve({ ...article, type: 'text' as const, pages: [], warnings: [] })
    const { answer } = await answerDocument({ form: { question }, bytes: Buffer.byteLength(article.text), load }, services)
    return { id, answers, answer, characters: article.text.length }
  })
  const score = (metric: typeof exactMatch) => {
    const samples = asked.map(({ id, answer, answers }) => ({ cluster: id, value: bestOver(metric, answer, answers) }))
    return withInterval(estimateShare(samples, 0))
  }
  const characters = asked.reduce((sum, article) => sum + article.characters, 0) / asked.length
  return `POST /v1/documents/answer, ${asked.length} questions, articles of ${Math.round(characters)} characters on average: EM ${score(exactMatch)}, F1 ${score(f1)}.`
}
