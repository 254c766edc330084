import { createReadStream } from 'node:fs'
import { open, stat, type FileHandle } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { CodedError, messageOf, osCode } from '../../base/errors.ts'
import { parseLine, readQuestion } from '../http/request/read-question.ts'
import { answerBatch, type BatchOptions } from '../rag/batch.ts'
import type { AnswerRequest } from '../rag/schema.ts'
import type { StartProgress } from '../service/follow-job.ts'

export interface AskFileOptions extends BatchOptions {
  readonly file: string
  /** Writes an answer as one line. */
  readonly write: (line: string) => Promise<void>
  /** Defaults of questions. */
  readonly defaults: Partial<AnswerRequest>
  /** Reports a failed line. */
  readonly onFailed: (message: string) => void
  readonly startProgress: StartProgress
}

export interface FileAnswered {
  readonly answered: number
  readonly failed: number
}

/** @throws not_found if the file does not exist */
export async function checkFile(file: string): Promise<void> {
  if ((await stat(file).catch(() => undefined))?.isFile() !== true)
    throw new CodedError('not_found', `There is no file ${file}: name one with a question a line.`, { field: '--file' })
}

/** Creates a file for answers. @throws conflict if it exists, so that its content is kept; options_invalid if it cannot be made */
export async function newFile(file: string): Promise<FileHandle> {
  return open(file, 'ax+').catch((error: unknown) => {
    if (osCode(error) === 'EEXIST')
      throw new CodedError('conflict', `${file} exists already: name another file, or move it away.`, { field: '--out' })
    throw new CodedError('options_invalid', `--out ${file} cannot be written (${messageOf(error)}): name a file in a folder that exists.`, {
      field: '--out',
    })
  })
}

/**
 * Answers a file's questions, one per line: JSON as in `POST /v1/answer`, or a bare question. Writes `{line, question, result}` or `{line,
 * error}` for every line that is not blank, in order.
 */
export async function askFile({ file, write, defaults, onFailed, startProgress, ...batch }: AskFileOptions): Promise<FileAnswered> {
  let total = 0
  for await (const _ of numberedLines(file)) total++
  const asked: { readonly number: number; question?: string }[] = []
  async function* questions(): AsyncGenerator<() => AnswerRequest> {
    for await (const { number, text } of numberedLines(file)) {
      const line: { number: number; question?: string } = { number }
      asked.push(line)
      yield () => {
        const request = { ...defaults, ...requestOf(text) }
        line.question = request.question
        return request
      }
    }
  }
  const progress = startProgress('Answering', 'questions')
  let failed = 0
  let done = 0
  try {
    for await (const outcome of answerBatch(questions(), batch)) {
      const line = asked.shift()
      if (!line) throw new Error('This is a bug: an outcome without a question.')
      const { number, question } = line
      if ('result' in outcome) await write(JSON.stringify({ line: number, question, result: outcome.result }))
      else {
        failed++
        onFailed(`${file}, line ${number}: ${messageOf(outcome.error)}`)
        await write(JSON.stringify({ line: number, ...(question !== undefined && { question }), error: told(outcome.error) }))
      }
      progress.update(++done, total)
    }
  } finally {
    progress.stop()
  }
  return { answered: done - failed, failed }
}

async function* numberedLines(file: string): AsyncGenerator<{ readonly number: number; readonly text: string }> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number++
    const text = line.replace(/^\uFEFF/, '').trim()
    if (text !== '') yield { number, text }
  }
}

function requestOf(text: string): AnswerRequest {
  return readQuestion(text.startsWith('{') ? parseLine(text) : { question: text })
}

function told(error: unknown): { readonly code: string; readonly message: string; readonly field?: string } {
  if (!(error instanceof CodedError)) return { code: 'internal', message: messageOf(error) }
  const { code, message, field } = error
  return { code, message, ...(field !== undefined && { field }) }
}
