import { counted, present } from '../../base/at.ts'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { appendLine } from '../../base/durable.ts'
import { CodedError, conflict, invalidOption, invalidRequest, messageOf, reasonOf, notFound, osCode } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { type BadLine, closing, fileBytes, type Line, readLines } from '../../base/files.ts'
import { loadConfig } from '../config.ts'
import { parseLine, readQuestion } from '../http/request/read-question.ts'
import type { RunOptions } from '../inference/contract.ts'
import { answerEvents } from '../rag/answer-events.ts'
import { answerQuestion } from '../rag/answer.ts'
import { answerBatch, type BatchOptions } from '../rag/batch.ts'
import { cutOff, noAnswerText } from '../rag/no-answer/words.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import type { AnswerRequest, AnswerResponse } from '../rag/schema.ts'
import type { StartProgress } from '../service/follow-job.ts'
import { openService } from '../service/services.ts'
import { ensureArtefacts } from '../service/setup.ts'
import { forReading } from '../service/storage.ts'
import { createProgress } from './program/progress.ts'
import { print, say } from './program/shown.ts'

/** Longest line of a file. */
const LINE_BYTES = 16 * 2 ** 20

interface AskFileOptions extends BatchOptions {
  readonly file: string
  readonly write: (line: string) => Promise<unknown>
  readonly defaults: Partial<AnswerRequest>
  readonly onFailed: (message: string) => void
  readonly startProgress: StartProgress
}

/** @throws not_found if the file does not exist; invalid_request if it holds no question */
export async function checkFile(file: string): Promise<void> {
  if ((await stat(file).catch(() => undefined))?.isFile() !== true)
    throw notFound('--file', `There is no file ${file}: name one with a question a line.`)
  for await (const _ of filledLines(file)) return
  throw invalidRequest('--file', `${file} holds no question: write one a line.`)
}

/** Creates a file for answers. @throws conflict if it exists, so that its content is kept; options_invalid if it cannot be made */
export async function newFile(file: string): Promise<FileHandle> {
  return open(file, 'ax+').catch((error: unknown) => {
    if (osCode(error) === 'EEXIST') throw conflict('--out', `${file} exists already: name another file, or move it away.`)
    throw invalidOption('--out', `--out ${file} cannot be written (${reasonOf(error)}): name a file in a folder that exists.`)
  })
}

/**
 * Answers a file's questions, one per line: JSON as in `POST /v1/answer`, or a bare question. Writes `{line, question, result}` or `{line,
 * error}` for every line that is not blank, in order.
 */
export async function askFile({ file, write, defaults, onFailed, startProgress, ...batch }: AskFileOptions) {
  let total = 0
  for await (const _ of filledLines(file)) total++
  const asked: { readonly number: number; question?: string }[] = []
  async function* questions(): AsyncGenerator<() => AnswerRequest> {
    for await (const item of filledLines(file)) {
      const line: { number: number; question?: string } = { number: item.line }
      asked.push(line)
      yield () => {
        const request = { ...defaults, ...requestOf(item) }
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
      const { number, question } = present(asked.shift())
      const said = 'result' in outcome ? { result: outcome.result } : { error: told(outcome.error) }
      if (said.error) {
        failed++
        onFailed(`${file}, line ${number}: ${said.error.message}`)
      }
      await write(JSON.stringify({ line: number, question, ...said }))
      progress.update(++done, total)
    }
  } finally {
    progress.stop()
  }
  return { answered: done - failed, failed }
}

async function* filledLines(file: string): AsyncGenerator<Line | BadLine> {
  for await (const item of readLines(fileBytes(file), LINE_BYTES)) if ('reason' in item || item.text.trim() !== '') yield item
}

/** @throws invalid_request */
function requestOf(line: Line | BadLine): AnswerRequest {
  if ('reason' in line) throw new CodedError('invalid_request', line.detail)
  const text = line.text.trim()
  return readQuestion(text.startsWith('{') ? parseLine(text) : { question: text })
}

/** An error as a line of the answers tells it. */
function told(error: unknown) {
  const { code = 'internal', message = messageOf(error), field } = failureOf(error) ?? {}
  return { code, message, field }
}

/** Evidence lines shown without --json. */
const SHOWN_EVIDENCE = 3

export interface AskOptions extends Pick<AnswerRequest, 'collection' | 'mode' | 'k' | 'method'> {
  readonly json?: boolean
  readonly file?: string
  readonly out?: string
}

/** Answers one question, or a file of them, without a server. @throws options_invalid, not_found, conflict; what answering throws */
export async function runAsk(question: string | undefined, options: AskOptions): Promise<void> {
  checkOptions(question, options)
  const { file, out: outFile, json, ...defaults } = options
  if (file !== undefined) await checkFile(file)
  const single = question === undefined ? undefined : readQuestion({ ...defaults, question })
  // A single question needs no second reader.
  const config = await forReading({ ...(file === undefined && { READERS: 1 }), ...loadConfig() })
  const run = { deadlineMs: config.DEADLINE_MS }
  const out = outFile === undefined ? undefined : await newFile(outFile)
  try {
    await ensureArtefacts(config, createProgress)
    await using services = closing(await openService(config))
    if (single !== undefined) await askOne(single, services.answering, run, json)
    else if (file !== undefined) {
      const write = (line: string): Promise<unknown> => (out ? appendLine(out, line) : print(`${line}\n`))
      const asked = { file, defaults, write, onFailed: say, startProgress: createProgress }
      const { answered, failed } = await askFile({ ...asked, services: services.answering, run })
      say(`${answered} answered, ${failed} failed`)
      if (failed > 0) process.exitCode = 1
    }
  } finally {
    const isEmpty = (await out?.stat())?.size === 0
    await out?.close()
    if (isEmpty && outFile !== undefined) await rm(outFile)
  }
}

function checkOptions(question: string | undefined, { file, out, json }: AskOptions): void {
  if ((question === undefined) === (file === undefined)) throw invalidOption(undefined, 'Give one question, or --file with a file of them.')
  if (file === undefined && out !== undefined) throw invalidOption('--out', '--out goes with --file: a single answer is printed.')
  if (file !== undefined && json)
    throw invalidOption('--json', '--json goes with a single question: the answers to a file are JSON lines always.')
}

async function askOne(request: AnswerRequest, services: AnswerServices, run: RunOptions, json = false): Promise<void> {
  if (json || !process.stdout.isTTY) {
    const response = await answerQuestion(request, services, run)
    await print(json ? `${JSON.stringify(response, null, 2)}\n` : readable(response))
    return
  }
  let said = false
  for await (const { event, data } of answerEvents(request, services, run)) {
    if (event === 'token') await print(data.text)
    if (event === 'answer') await print(said ? `\n${details(data)}` : readable(data))
    said ||= event === 'token'
  }
}

function readable(response: AnswerResponse): string {
  return `${noAnswerText(response) ?? response.answer}\n${details(response)}`
}

function details(response: AnswerResponse): string {
  const { confidence, probability_correct: probability, evidence, timings_ms } = response
  const lines = evidence.slice(0, SHOWN_EVIDENCE).map(({ rank, title, text, role, attention }) => {
    const share = attention === null ? '' : `, attention ${(100 * attention).toFixed(0)} %`
    return `  ${rank}. ${title} (${role}${share}): ${text}`
  })
  const likely = probability === null ? '' : `${Math.round(100 * probability)} % likely right, `
  const sure = `${cutOff(response)}${likely}confidence ${confidence.toFixed(2)}, ${Math.round(timings_ms.total)} ms, ${counted(evidence.length, 'passage')}:`
  return [sure, ...lines, ''].join('\n')
}
