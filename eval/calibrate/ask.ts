import pLimit from 'p-limit'
import { CodedError, type ErrorCode } from '../../base/errors.ts'
import type { AnswerResponse } from '../../src/rag/schema.ts'
import type { Signals } from '../../src/rag/calibration/calibration.ts'
import type { AnswerClient } from '../client/client.ts'
import { describeProblem } from '../datasets/problems.ts'
import { readDataset } from '../datasets/read.ts'
import type { EvalQuestion } from '../datasets/question-set.ts'
import { bestOver, exactMatch } from '../metrics/answer.ts'
import type { JudgedSignals } from './fit.ts'

/** Questions with the files that they are from. */
export interface CalibrationQuestions {
  readonly questions: readonly EvalQuestion[]
  readonly files: readonly { readonly name: string; readonly sha256: string }[]
  /** Lines not asked, by file. */
  readonly skipped: readonly string[]
}

/**
 * Reads questions of several files: unanswerable are those without an answer, and all of `unanswerable`.
 * @throws dataset_invalid if a file has no question
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
    skipped: read.flatMap(({ file, problems }) => problems.map((problem) => `${file}: ${describeProblem(problem)}`)),
  }
}

/** Errors that concern one question only. */
const LEFT_OUT: readonly ErrorCode[] = ['invalid_request', 'unprocessable', 'payload_too_large', 'inference_failed', 'deadline_exceeded']

export interface AskOptions {
  /** Passages per question; each k is asked; null: the model's own. */
  readonly ks: readonly (number | null)[]
  readonly concurrency: number
  readonly onProgress: (done: number, total: number) => void
}

export interface AskedAnswers {
  readonly judged: readonly JudgedSignals[]
  /** Questions without a usable answer: failed, empty, or without passages. */
  readonly left: number
  readonly sources: Pick<AnswerResponse, 'model'> & { readonly index: NonNullable<AnswerResponse['index']> }
}

/**
 * Asks every question at every k and judges the answers (exact match). A question that the service rejects or fails at is skipped and
 * counted.
 * @throws options_invalid if model or index change meanwhile; nothing_scored if nothing was answered; the service's own errors
 */
export async function askAll(
  client: AnswerClient,
  questions: readonly EvalQuestion[],
  { ks, concurrency, onProgress }: AskOptions,
): Promise<AskedAnswers> {
  const limit = pLimit(concurrency)
  const tasks = questions.flatMap((question) => ks.map((k) => ({ question, k })))
  let done = 0
  const asked = await Promise.all(
    tasks.map(({ question, k }) =>
      limit(async () => {
        const response = await answerOf(client, question.question, k)
        onProgress(++done, tasks.length)
        return response === undefined ? [] : [{ question, response }]
      }),
    ),
  ).finally(() => limit.clearQueue())
  const answers = asked.flat()
  const [first] = answers
  if (first === undefined) throw new CodedError('nothing_scored', 'The service answered none of the questions: its log says why.')
  const { model, index } = first.response
  const same = answers.every(
    ({ response }) =>
      response.model.reader === model.reader && response.index?.table === index?.table && response.index?.passages === index?.passages,
  )
  if (!same || index === null)
    throw new CodedError('options_invalid', 'The model or the index changed while questions were asked: run the command again.')
  const judged = answers.flatMap(({ question, response }) => judge(question, response))
  if (judged.length === 0)
    throw new CodedError(
      'nothing_scored',
      'No answer has signals: all are empty, or no passages were found. Check the answers (cepe ask --file).',
    )
  return { judged, left: tasks.length - judged.length, sources: { model, index } }
}

/** Undefined if the service rejected this question or failed at it. */
async function answerOf(client: AnswerClient, question: string, k: number | null): Promise<AnswerResponse | undefined> {
  try {
    return await client.answer({ question, ...(k !== null && { k }), min_confidence: 0, include_signals: true })
  } catch (error) {
    if (error instanceof CodedError && LEFT_OUT.includes(error.code)) return undefined
    throw error
  }
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
