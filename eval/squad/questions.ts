import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import pLimit from 'p-limit'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import type { AnswerClient } from '../client/client.ts'
import { type EvalPassage, type EvalQuestion, spread } from '../datasets/question-set.ts'
import { readDataset } from '../datasets/read.ts'
import { bestOver, exactMatch, f1 } from '../metrics/answer.ts'
import { answerFinder } from '../metrics/retrieval.ts'
import { type Estimate, estimateShare } from '../statistics/bootstrap.ts'
import type { EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'
import type { EvalRecord } from '../tasks/open-domain-qa/record.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { answerDocument, type DocumentServices } from '../../src/rag/document.ts'
import type { Mode } from '../../src/text/plan.ts'

/** Questions that are asked without a passage that answers them, as a share of those that are asked with one. */
const UNANSWERED = 0.5

/** Classes of the questions in the report. */
const CLASSES = { answered: 'answered by a passage', unanswered: 'no passage with the answer' } as const

/** Files of questions about real text, and what their passages must not hold. */
export interface RealQuestions {
  /** Each question with its own passage. */
  readonly answered: string
  /** Some of the questions, each with a passage of the same article that does not contain the answer. */
  readonly unanswered: string
  /** By question: whether a passage contains the answer. */
  readonly isAnsweredBy: ReadonlyMap<string, (passage: Pick<EvalPassage, 'id' | 'title' | 'text'>) => boolean>
  /** By question: all passages of its article as one text. */
  readonly articleOf: ReadonlyMap<string, Article>
}

export interface Article {
  readonly title: string
  readonly text: string
}

/**
 * Writes the questions of `folder` (questions.jsonl with passage_id, passages.tsv), with and without their own passage, to files of `out`.
 * @param most questions to be asked; undefined: all
 * @throws dataset_invalid if no question names a passage
 */
export async function realQuestions(folder: string, out: string, most: number | undefined): Promise<RealQuestions> {
  const corpus = path.join(folder, 'passages.tsv')
  const passages: EvalPassage[] = []
  for await (const item of readPassageFile(corpus)) if ('passage' in item) passages.push(item.passage)
  const places = new Map(passages.map(({ id }, place) => [id, place]))
  const { questions } = await readDataset(path.join(folder, 'questions.jsonl'))
  const named = questions.flatMap((question) => {
    const place = places.get(question.goldPassage ?? '')
    return place === undefined ? [] : [{ question, place }]
  })
  if (named.length === 0)
    throw new CodedError('dataset_invalid', `${folder} has no question whose passage_id names a passage of ${path.basename(corpus)}.`)
  const withOther = named.flatMap(({ question, place }) => {
    const other = neighbour(passages, place, answeredBy(question))
    return other === undefined ? [] : [{ question, other }]
  })
  const articles = new Map<string, string>()
  for (const { title, text } of passages) articles.set(title, [articles.get(title) ?? [], text].flat().join('\n\n'))
  await mkdir(out, { recursive: true })
  const write = async (name: string, lines: readonly string[]): Promise<string> => {
    const file = path.join(out, name)
    await writeFile(file, lines.join(''))
    return file
  }
  return {
    answered: await write(
      'questions.jsonl',
      named.map(({ question, place }) => line(question, at(passages, place), CLASSES.answered)),
    ),
    unanswered: await write(
      'unanswered.jsonl',
      spread(withOther, Math.ceil(UNANSWERED * Math.min(most ?? Infinity, named.length))).map(({ question, other }) =>
        line(question, other, CLASSES.unanswered),
      ),
    ),
    isAnsweredBy: new Map(named.map(({ question }) => [question.question, answeredBy(question)])),
    articleOf: new Map(named.map(({ question, place }) => [question.question, articleWith(at(passages, place), articles)])),
  }
}

function articleWith({ title }: EvalPassage, articles: ReadonlyMap<string, string>): Article {
  return { title, text: articles.get(title) ?? '' }
}

function answeredBy({ answers, goldPassage }: EvalQuestion): (passage: Pick<EvalPassage, 'id' | 'title' | 'text'>) => boolean {
  const holdsAnswer = answerFinder(answers)
  return ({ id, title, text }) => id === goldPassage || holdsAnswer(`${title} ${text}`)
}

/** The nearest passage of the same article that does not answer, the next rather than the one before. */
function neighbour(
  passages: readonly EvalPassage[],
  place: number,
  isAnsweredBy: (passage: EvalPassage) => boolean,
): EvalPassage | undefined {
  const { title } = at(passages, place)
  return passages
    .map((passage, i) => ({ passage, distance: Math.abs(i - place) - (i > place ? 0.5 : 0) }))
    .filter(({ passage }) => passage.title === title && !isAnsweredBy(passage))
    .sort((a, b) => a.distance - b.distance)[0]?.passage
}

function line({ id, question, answers, goldPassage }: EvalQuestion, { id: passage, title, text }: EvalPassage, which: string): string {
  return `${JSON.stringify({ id, question, answer: answers, passage_id: goldPassage, class: which, ctxs: [{ id: passage, title, text }] })}\n`
}

const RECALL_DEPTH = 40
const ENCODED_PASSAGES = 10

/** How questions about real text are asked in one run. */
export interface Asking {
  readonly name: string
  /** `supplied` is one passage: that of the question. */
  readonly retrieval: 'supplied' | 'hybrid'
  /** Passages per question. */
  readonly ks: readonly number[]
  /** 0: all passages through the encoder; null: the model's own. */
  readonly kDecoder: 0 | null
}

/**
 * The runs for a reader. Those that are read separately may be many passages, those of one prompt are few.
 * @param hasEncoder whether the reader can read through an encoder alone
 */
export function askings(mode: Mode, hasEncoder: boolean, ks?: readonly number[]): Asking[] {
  const all: Asking[] = [
    { name: 'supplied', retrieval: 'supplied', ks: [1], kDecoder: null },
    { name: 'supplied, encoder alone', retrieval: 'supplied', ks: [1], kDecoder: 0 },
    { name: 'hybrid', retrieval: 'hybrid', ks: ks ?? (mode === 'decoder-only' ? [3, 5] : [5, 10, 20, 40]), kDecoder: null },
    { name: 'hybrid, encoder alone', retrieval: 'hybrid', ks: [ENCODED_PASSAGES], kDecoder: 0 },
  ]
  return all.filter(({ kDecoder }) => kDecoder === null || hasEncoder)
}

export function optionsOf(
  { name, retrieval, ks, kDecoder }: Asking,
  { mode, questions, limit }: { readonly mode: Mode; readonly questions: string; readonly limit: number | undefined },
): EvaluationOptions {
  return {
    dataset: `real text, ${name}`,
    questions,
    limit,
    protocol: { ...modelProtocol([mode], [...ks], retrieval, retrieval === 'supplied' ? 1 : RECALL_DEPTH), k_decoder: kDecoder },
    dumpPrompts: false,
  }
}

/** The pipeline over a corpus without the passages that answer a question. */
export function withoutAnswers(client: AnswerClient, isAnsweredBy: RealQuestions['isAnsweredBy']): AnswerClient {
  return {
    ...client,
    search: async (request) => {
      const { k = RECALL_DEPTH, query } = request
      const found = await client.search({ ...request, k: 2 * k })
      return { ...found, passages: found.passages.filter((passage) => !isAnsweredBy.get(query)?.(passage)).slice(0, k) }
    },
  }
}

export interface ArticleScores {
  readonly exactMatch: Estimate
  readonly f1: Estimate
  /** Mean characters of the articles. */
  readonly characters: number
}

/** Asks questions with their whole article in the request, as POST /v1/documents/answer. */
export async function askArticles(
  records: readonly Pick<EvalRecord, 'id' | 'question' | 'answers'>[],
  articleOf: RealQuestions['articleOf'],
  services: DocumentServices,
  concurrency: number,
): Promise<ArticleScores> {
  const limit = pLimit(concurrency)
  const asked = await Promise.all(
    records.map(({ id, question, answers }) =>
      limit(async () => {
        const article = articleOf.get(question)
        if (article === undefined) throw new Error(`${id} has no article. This is a bug.`)
        const { text } = article
        const load = () => Promise.resolve({ ...article, type: 'text' as const, pages: [], warnings: [] })
        const { answer } = await answerDocument({ form: { question }, bytes: Buffer.byteLength(text), load }, services)
        return { cluster: id, answer, answers, characters: text.length }
      }),
    ),
  )
  const scored = (metric: typeof exactMatch) =>
    estimateShare(
      asked.map(({ cluster, answer, answers }) => ({ cluster, value: bestOver(metric, answer, answers) })),
      0,
    )
  const characters = asked.reduce((sum, article) => sum + article.characters, 0) / asked.length
  return { exactMatch: scored(exactMatch), f1: scored(f1), characters }
}
