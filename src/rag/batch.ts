import { setTimeout as delay } from 'node:timers/promises'
import pLimit from 'p-limit'
import { CodedError } from '../../base/errors.ts'
import type { RunOptions } from '../inference/contract.ts'
import { answerQuestion } from './answer.ts'
import type { AnswerServices } from './pipeline.ts'
import type { AnswerRequest, AnswerResponse } from './schema.ts'

/** Questions of a batch that are in work, or wait for a place, at the same time. */
export const BATCH_AT_ONCE = 8
/** Answers that wait for one before them, or for their taker, and questions in work: no more than so many are begun ahead. */
const AHEAD = 2 * BATCH_AT_ONCE
const DEFAULT_RETRY_S = 1
/** An admission check costs nothing here: a question retries sooner than Retry-After tells clients to. */
const LONGEST_WAIT_MS = 2_000

/** What became of a question. */
export type Outcome = { readonly result: AnswerResponse } | { readonly error: unknown }

export interface BatchOptions {
  readonly services: AnswerServices
  /** Of each question: who asks, how long one may take, and the signal that ends the whole batch. */
  readonly run: RunOptions
  /** Milliseconds for the whole batch; default: no bound. */
  readonly batchMs?: number
}

/**
 * Answers question after question, some at the same time, and gives what became of each, in their order. A question that
 * fails fails alone. One that finds no place waits and tries again, for as long as the batch has time. Questions are only
 * read, and begun, as their answers are taken; who stops taking ends those in work.
 * @param questions each gives its request, or throws what is wrong with it
 */
export async function* answerBatch(
  questions: AsyncIterable<() => AnswerRequest> | Iterable<() => AnswerRequest>,
  { services, run, batchMs = Infinity }: BatchOptions,
): AsyncGenerator<Outcome, void, undefined> {
  const leaving = new AbortController()
  const signal = run.signal ? AbortSignal.any([run.signal, leaving.signal]) : leaving.signal
  const batch = { services, run: { ...run, signal }, batchMs, endsAt: performance.now() + batchMs }
  const limit = pLimit(BATCH_AT_ONCE)
  const begun: Promise<Outcome>[] = []
  try {
    for await (const question of questions) {
      begun.push(limit(() => outcomeOf(question, batch)))
      if (begun.length < AHEAD) continue
      const first = await begun.shift()
      if (first) yield first
    }
    for (const outcome of begun) yield await outcome
  } finally {
    leaving.abort()
  }
}

interface Batch extends BatchOptions {
  readonly run: RunOptions & { readonly signal: AbortSignal }
  readonly batchMs: number
  readonly endsAt: number
}

/** Never rejects: nobody may be waiting for it yet. */
async function outcomeOf(question: () => AnswerRequest, batch: Batch): Promise<Outcome> {
  try {
    if (batch.run.signal.aborted) throw left()
    return { result: await answerWithRetry(question(), batch) }
  } catch (error) {
    return { error }
  }
}

/** @throws deadline_exceeded where the batch has no more time */
async function answerWithRetry(request: AnswerRequest, { services, run, batchMs, endsAt }: Batch): Promise<AnswerResponse> {
  for (;;) {
    const leftMs = endsAt - performance.now()
    if (leftMs <= 0)
      throw new CodedError(
        'deadline_exceeded',
        `The batch's ${batchMs} ms were over before this question's turn (CEPE_BATCH_DEADLINE_MS): send it again, in a smaller batch.`,
      )
    try {
      return await answerQuestion(request, services, { ...run, deadlineMs: Math.min(run.deadlineMs ?? Infinity, leftMs) })
    } catch (error) {
      if (!(error instanceof CodedError && error.code === 'overloaded')) throw error
      const waitMs = Math.min(1000 * (error.retryAfterS ?? DEFAULT_RETRY_S), LONGEST_WAIT_MS, leftMs)
      await delay(waitMs, undefined, { signal: run.signal }).catch(() => {
        throw left()
      })
    }
  }
}

function left(): CodedError {
  return new CodedError('client_closed', 'The client closed the connection.')
}
