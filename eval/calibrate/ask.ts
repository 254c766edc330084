import pLimit from 'p-limit'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import type { AnswerResponse } from '../../src/rag/schema.ts'
import type { Signals } from '../../src/rag/calibration/signal-names.ts'
import type { AnswerClient } from '../client/client.ts'
import { readDataset } from '../datasets/read.ts'
import type { EvalQuestion } from '../datasets/question-set.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import type { JudgedSignals } from './fit.ts'

/** Questions with the files that they are from. */
export interface CalibrationQuestions {
  readonly questions: readonly EvalQuestion[]
  readonly files: readonly { readonly name: string; readonly sha256: string }[]
}

/**
 * Questions of several files: those without an answer are ones that the corpus does not answer, and all of `unanswerable` are.
 * @throws dataset_invalid where a file has no question
 */
export async function readQuestions(files: readonly string[], unanswerable: readonly string[]): Promise<CalibrationQuestions> {
  const read = await Promise.all([
    ...files.map(async (file) => {
      const all = await readDataset(file, { answerable: false, keepPassages: 0 })
      const answered = await readDataset(file, { keepPassages: 0 }).catch(() => undefined)
      const known = new Map(answered?.questions.map((question) => [question.id, question]))
      return { ...all, questions: all.questions.map((question) => known.get(question.id) ?? question) }
    }),
    ...unanswerable.map((file) => readDataset(file, { answerable: false, keepPassages: 0 })),
  ])
  return {
    questions: read.flatMap(({ questions, file }) => questions.map((question) => ({ ...question, id: `${file} ${question.id}` }))),
    files: read.map(({ file, sha256 }) => ({ name: file, sha256 })),
  }
}

export interface AskOptions {
  /** Passages per question, each asked for; null: the model's own. */
  readonly ks: readonly (number | null)[]
  readonly concurrency: number
  readonly onProgress: (done: number, total: number) => void
}

export interface AskedAnswers {
  readonly judged: readonly JudgedSignals[]
  /** Answers without signals: empty, or given without the encoder's attention. */
  readonly left: number
  readonly sources: Pick<AnswerResponse, 'model'> & { readonly index: NonNullable<AnswerResponse['index']> }
}

/**
 * Has every question answered at every k, and says whether the answers are right (exact match).
 * @throws options_invalid where what answers changes meanwhile; the service's own errors
 */
export async function askAll(
  client: AnswerClient,
  questions: readonly EvalQuestion[],
  { ks, concurrency, onProgress }: AskOptions,
): Promise<AskedAnswers> {
  const limit = pLimit(concurrency)
  const tasks = questions.flatMap((question) => ks.map((k) => ({ question, k })))
  let done = 0
  const answers = await Promise.all(
    tasks.map(({ question, k }) =>
      limit(async () => {
        const response = await client
          .answer({ question: question.question, ...(k !== null && { k }), min_confidence: 0, include_signals: true })
          .finally(() => onProgress(++done, tasks.length))
        return { question, response }
      }),
    ),
  )
  const { response: first } = at(answers, 0)
  const changed = answers.find(
    ({ response: { model, index } }) => model.reader !== first.model.reader || index?.version !== first.index?.version,
  )
  if (changed || first.index === null)
    throw new CodedError('options_invalid', 'The model or the index changed while questions were asked: run the command again.')
  const judged = answers.flatMap(({ question, response }) => judge(question, response))
  return { judged, left: answers.length - judged.length, sources: { model: first.model, index: first.index } }
}

function judge(question: EvalQuestion, { answer, signals }: AnswerResponse): JudgedSignals[] {
  if (answer === null || signals === undefined || signals === null) return []
  return [
    {
      signals: signals as Signals,
      right: bestOver(exactMatch, answer, question.answers) === 1,
      answerable: question.answerable,
      group: question.goldTitle ?? question.id,
    },
  ]
}
