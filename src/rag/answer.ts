import type { AnswerReadResult, RunOptions } from '../inference/contract.ts'
import { confidence, evidence } from './evidence.ts'
import { NO_RETRIEVAL } from './gather.ts'
import { hasNoPassages, sources, withPassages, type Asked, type AnswerServices } from './pipeline.ts'
import type { AnswerRequest, AnswerResponse } from './schema.ts'

/** Hears an answer as it comes about: its passages once, then its text in pieces, which joined are the answer. */
export interface AnswerListener {
  passages(asked: Asked): void
  text(piece: string): void
}

/**
 * Answers a question from retrieved (or supplied) passages.
 * @throws overloaded at the door; deadline_exceeded; invalid_request and unprocessable naming the field
 */
export function answerQuestion(
  request: AnswerRequest,
  services: AnswerServices,
  run: RunOptions = {},
  listener?: AnswerListener,
): Promise<AnswerResponse> {
  const started = performance.now()
  return withPassages({ request }, services, run, async (asked) => {
    listener?.passages(asked)
    const read = hasNoPassages(asked) ? NOTHING_READ : await readAloud(asked, services, listener)
    const total = performance.now() - started
    return {
      ...(read === NOTHING_READ ? NO_ANSWER : answerOf(read)),
      evidence: await evidence(asked.passages, read, { shares: read.contextShares, answer: read.text }),
      mode: asked.settled.mode,
      usage: usageOf(read),
      timings_ms: rounded({ ...(asked.found?.timings ?? NO_RETRIEVAL), ...read.timingsMs, total }),
      ...sources(services, asked),
      ...(asked.settled.includePrompts && { prompts: [...read.prompts], contexts: [...read.contexts] }),
    }
  })
}

async function readAloud(asked: Asked, { reader }: AnswerServices, listener: AnswerListener | undefined): Promise<AnswerReadResult> {
  const question = { ...asked.settled, passages: asked.passages }
  if (!listener) return reader.answer(question, asked.run())
  let heard = ''
  const onText = (piece: string): void => {
    heard += piece
    listener.text(piece)
  }
  const read = await reader.answer(question, { ...asked.run(), onText })
  // What could not be told to be the answer's end before it ended, or all of it where the reader does not speak.
  if (read.text.length > heard.length && read.text.startsWith(heard)) listener.text(read.text.slice(heard.length))
  return read
}

/** Nothing was asked of the model. */
const NOTHING_READ: AnswerReadResult = {
  text: '',
  stopped: false,
  logprobs: [],
  contextShares: [],
  contextTokenCounts: [],
  contextOf: [],
  inDecoder: [],
  promptTokens: 0,
  prompts: [],
  contexts: [],
  timingsMs: { queue: 0, plan: 0, encode: 0, generate: 0 },
}

type Answered = Pick<AnswerResponse, 'answer' | 'reason' | 'confidence' | 'finish_reason'>

const NO_ANSWER: Answered = { answer: null, reason: 'no_passages', confidence: 0, finish_reason: null }

function answerOf({ text, stopped, logprobs }: AnswerReadResult): Answered {
  // A reader that stops at once may be sure that it has no answer; there is none to be confident of.
  return { answer: text, reason: null, confidence: text === '' ? 0 : confidence(logprobs), finish_reason: stopped ? 'stop' : 'length' }
}

function usageOf({ promptTokens, contextTokenCounts, logprobs }: AnswerReadResult): AnswerResponse['usage'] {
  return {
    prompt_tokens: promptTokens,
    context_tokens: contextTokenCounts.reduce((sum, count) => sum + count, 0),
    generated_tokens: logprobs.length,
  }
}

function rounded<T extends Record<string, number>>(timings: T): T {
  return Object.fromEntries(Object.entries(timings).map(([name, ms]) => [name, Math.round(ms * 100) / 100])) as T
}
