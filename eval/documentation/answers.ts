import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { parseJson } from '../../base/json.ts'
import { fileHash } from '../datasets/records.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import { type Estimate, estimateShare } from '../statistics/bootstrap.ts'
import type { EvalRecord, Prediction } from '../tasks/open-domain-qa/record.ts'

/** Least probability of being right with which the service gives an answer by default. */
const GIVEN_FROM = 0.5

/** One question with its answer in the one setting that was asked. */
export interface AskedQuestion {
  readonly question: string
  readonly answers: readonly string[]
  readonly answerable: boolean
  readonly prediction: Prediction
  readonly right: boolean
  readonly given: boolean
  /** Words of the answer that stand nowhere in what the reader was given. */
  readonly strangeWords: readonly string[]
  /** Rank of the first passage that is of the file that the question was written from; undefined where none is, or no file is known. */
  readonly fileRank: number | undefined
  /** Rank of the first passage whose text holds a right answer. */
  readonly answerRank: number | undefined
}

/**
 * Reads a run of one setting that kept its prompts.
 * @param sources the file that a question was written from, by the question's text
 */
export function askedQuestions(records: readonly EvalRecord[], sources: ReadonlyMap<string, string>): AskedQuestion[] {
  return records.flatMap(({ question, answers, answerable, predictions, prompts, retrieval, skipped }) => {
    const [prediction] = predictions
    if (skipped || prediction === undefined) return []
    const rank = (retrieval?.ids ?? []).findIndex((id) => sourceOf(id) === sources.get(question))
    return [
      {
        question,
        answers,
        answerable,
        prediction,
        right: answerable && bestOver(exactMatch, prediction.answer, answers) === 1,
        given: prediction.answer !== '' && (prediction.probability_correct ?? prediction.confidence) >= GIVEN_FROM,
        strangeWords: strangeWords(prediction.answer, prompts?.flatMap(({ decoder, encoder }) => [...decoder, ...encoder]) ?? []),
        fileRank: rank < 0 ? undefined : rank + 1,
        answerRank: retrieval?.answer_ranks[0],
      },
    ]
  })
}

/** Ids of passages of documents are `source#hash`. */
function sourceOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('#')))
}

const WORD = /[\p{L}\p{N}]+/gu

/** Words of an answer that are no word of any of the texts: a reader that copies has none. */
export function strangeWords(answer: string, texts: readonly string[]): string[] {
  const known = new Set(texts.flatMap((text) => text.toLowerCase().match(WORD) ?? []))
  return (answer.match(WORD) ?? []).filter((word) => !known.has(word.toLowerCase()))
}

/** A share of questions with its interval, as a row of a table. */
function shareRow(what: string, questions: readonly AskedQuestion[], holds: (question: AskedQuestion) => boolean): string[] {
  const values = questions.map((question) => ({ cluster: question.question, value: Number(holds(question)) }))
  const { mean, low, high }: Estimate = estimateShare(values, 0)
  const count = questions.filter(holds).length
  return [
    what,
    `${count} of ${questions.length}`,
    questions.length === 0 ? '-' : `${mean.toFixed(3)} (${low.toFixed(3)}, ${high.toFixed(3)})`,
  ]
}

export const SHARES_HEADER = ['what', 'questions', 'share (95 % interval)']

/** What the questions showed, k passages read. */
export function shareRows(all: readonly AskedQuestion[], k: number): string[][] {
  const answerable = all.filter((question) => question.answerable)
  const within = (rank: number | undefined) => rank !== undefined && rank <= k
  return [
    shareRow('exact match', answerable, ({ right }) => right),
    shareRow(`a passage of the question's file among the ${k} that are retrieved`, answerable, ({ fileRank }) => within(fileRank)),
    shareRow(`a passage with a right answer among the ${k} that are retrieved`, answerable, ({ answerRank }) => within(answerRank)),
    shareRow(
      'of those: exact match',
      answerable.filter(({ answerRank }) => within(answerRank)),
      ({ right }) => right,
    ),
    shareRow(`given by default (probability_correct from ${GIVEN_FROM})`, answerable, ({ given }) => given),
    shareRow(
      'of those: exact match',
      answerable.filter(({ given }) => given),
      ({ right }) => right,
    ),
    shareRow(
      'without an answer in the files: given by default',
      all.filter((question) => !question.answerable),
      ({ given }) => given,
    ),
    shareRow('answers with a word that stands nowhere in question and passages', all, (question) => question.strangeWords.length > 0),
  ]
}

export const QUESTIONS_HEADER = ['question', 'answer', 'right answers', '', 'probability', 'rank of the file', 'rank of an answer']

/** Every question with its answer. */
export function questionRows(all: readonly AskedQuestion[]): string[][] {
  return all.map(({ question, answers, answerable, prediction, right, given, fileRank, answerRank }) => [
    question,
    prediction.answer === '' ? '(none)' : prediction.answer,
    answerable ? at(answers, 0) : '(not in the files)',
    answerable ? `${right ? 'right' : 'wrong'}${given ? '' : ', withheld'}` : given ? 'given' : 'withheld',
    (prediction.probability_correct ?? prediction.confidence).toFixed(2),
    answerable ? String(fileRank ?? '-') : '',
    answerable ? String(answerRank ?? '-') : '',
  ])
}

/** Lines of `sha256sum`: hash, two spaces, path. */
const LISTED = /^([0-9a-f]{64}) {2}(.+)$/

/**
 * Compares a folder with a list of hashes, as `sha256sum -c` does: figures are of these files and no others.
 * @returns how many files the list has
 * @throws dataset_invalid where one is missing or differs
 */
export async function checkListed(folder: string, list: string): Promise<number> {
  const lines = (await readFile(list, 'utf8')).split('\n').flatMap((line) => {
    const [, hash, name] = LISTED.exec(line) ?? []
    return hash === undefined || name === undefined ? [] : [{ hash, name }]
  })
  const other: string[] = []
  for (const { hash, name } of lines) {
    const file = path.join(folder, name)
    if (!(await exists(file)) || (await fileHash(file)) !== hash) other.push(name)
  }
  if (other.length === 0) return lines.length
  throw new CodedError(
    'dataset_invalid',
    `${other.length} of the ${lines.length} files of ${path.basename(list)} are missing from ${folder} or differ, ${other.slice(0, 3).join(', ')} among them: the questions were written from those.`,
  )
}

const SourceSchema = Type.Object({ question: Type.String(), source: Type.String() })

/** The file that each question of a question file was written from, by the question's text. */
export async function sourcesOf(questions: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(questions, 'utf8')).split('\n').map(parseJson)
  return new Map(lines.flatMap((line) => (Value.Check(SourceSchema, line) ? [[line.question.trim(), line.source] as const] : [])))
}
