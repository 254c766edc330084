import { setTimeout as delay } from 'node:timers/promises'
import pLimit from 'p-limit'
import { clientClosed, CodedError } from '../../base/errors.ts'
import { cancelledBy, type RunOptions } from '../inference/contract.ts'
import { answerQuestion } from './answer.ts'
import type { AnswerServices } from './pipeline.ts'
import type { AnswerRequest, AnswerResponse } from './schema.ts'

/** Questions of a batch that run or wait for admission concurrently. */
export const BATCH_AT_ONCE = 8
/** Limit of started questions, including finished answers that wait for an earlier one or for the consumer. */
const AHEAD = 2 * BATCH_AT_ONCE
const DEFAULT_RETRY_S = 1
/** An admission check is cheap: questions of a batch retry sooner than Retry-After asks of clients. */
const LONGEST_WAIT_MS = 2_000

export type Outcome = { readonly result: AnswerResponse } | { readonly error: unknown }

export interface BatchOptions {
  readonly services: AnswerServices
  /** For each question: client, deadline, and the signal that cancels the batch. */
  readonly run: RunOptions
  /** Milliseconds for the whole batch; default: no limit. */
  readonly batchMs?: number
}

/**
 * Answers questions concurrently and yields results in order. A failed question does not affect others. One that is not admitted is retried
 * until the batch's deadline. Backpressure: questions are read and started as results are consumed; ending the iteration cancels them.
 * @param questions each returns its request, or throws its validation error
 */
export async function* answerBatch(
  questions: AsyncIterable<() => AnswerRequest> | Iterable<() => AnswerRequest>,
  { services, run, batchMs = Infinity }: BatchOptions,
): AsyncGenerator<Outcome, void, undefined> {
  const leaving = new AbortController()
  const batch = { services, run: cancelledBy(leaving.signal, run), batchMs, endsAt: performance.now() + batchMs }
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

/** Never rejects: it may not be awaited yet. */
async function outcomeOf(question: () => AnswerRequest, batch: Batch): Promise<Outcome> {
  try {
    if (batch.run.signal.aborted) throw clientClosed()
    return { result: await answerWithRetry(question(), batch) }
  } catch (error) {
    return { error }
  }
}

/** @throws deadline_exceeded if the batch has no time left */
async function answerWithRetry(request: AnswerRequest, { services, run, batchMs, endsAt }: Batch): Promise<AnswerResponse> {
  const late = `The batch's ${batchMs} ms were over before this question's turn (CEPE_BATCH_DEADLINE_MS): send it again, in a smaller batch.`
  for (;;) {
    const leftMs = endsAt - performance.now()
    if (leftMs <= 0) throw new CodedError('deadline_exceeded', late)
    try {
      return await answerQuestion(request, services, { ...run, deadlineMs: Math.min(run.deadlineMs ?? Infinity, leftMs) })
    } catch (error) {
      if (!(error instanceof CodedError && error.code === 'overloaded')) throw error
      const waitMs = Math.min(1000 * (error.retryAfterS ?? DEFAULT_RETRY_S), LONGEST_WAIT_MS, leftMs)
      await delay(waitMs, undefined, { signal: run.signal }).catch(() => {
        throw clientClosed()
      })
    }
  }
}
