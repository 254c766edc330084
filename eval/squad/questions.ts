import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { readPassageFile } from '../../index/read/read.ts'
import type { EvalPassage, EvalQuestion } from '../datasets/question-set.ts'
import { readDataset } from '../datasets/read.ts'
import { spread } from '../datasets/spread.ts'
import { answerFinder } from '../metrics/retrieval.ts'

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
