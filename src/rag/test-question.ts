import { describedError } from '../../base/failures.ts'
import type { Log } from '../inference/log.ts'
import { answerQuestion } from './answer.ts'
import type { AnswerServices } from './pipeline.ts'
import type { AnswerRequest } from './schema.ts'

/** Uses all defaults, like most users, so that it fails if their questions would. */
const QUESTION: AnswerRequest = { question: 'what is a test' }
/** Client id with its own fair share, so that it is answered under load. */
const CLIENT = 'readiness'
const DEFAULT_INTERVAL_MS = 5_000
/** A slow model is tested less often: tests take a small part of its time. */
const LEAST_PAUSE_PER_TEST = 20

interface TestQuestionOptions {
  readonly services: AnswerServices
  /** Finished runs of the inference processes: a busy service is not broken. */
  readonly finishedRuns: () => number
  readonly intervalMs?: number
  readonly deadlineMs: number
  readonly log?: Log | undefined
}

export type TestQuestion = ReturnType<typeof startTestQuestion>

/**
 * Periodically asks the whole pipeline a small question: a service whose processes run while every answer fails (damaged data or weights, a
 * hung process) is not ready.
 */
export function startTestQuestion({ services, finishedRuns, intervalMs = DEFAULT_INTERVAL_MS, deadlineMs, log }: TestQuestionOptions) {
  // Not admitted because the service is full: not a failure.
  const always = { ...services, admission: { enter: () => ({ release: () => undefined }) } }
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let last: { readonly ok: boolean; readonly detail: string } | undefined

  const ask = async (): Promise<void> => {
    const started = performance.now()
    const before = finishedRuns()
    try {
      await answerQuestion(QUESTION, always, { deadlineMs, client: CLIENT })
      last = { ok: true, detail: `answered in ${Math.round(performance.now() - started)} ms` }
    } catch (error) {
      if (closed) return
      const { code, message } = describedError(error)
      const busy = code === 'deadline_exceeded' && finishedRuns() > before
      const detail = busy ? 'busy with other questions' : `the test question failed (${code})`
      // A service is started before its index is filled.
      const level = code === 'index_missing' && last === undefined ? 'info' : 'error'
      // The message may contain paths, which must not be public: it is logged only.
      if (!busy && last?.detail !== detail) log?.(level, `The test question failed: ${message}`)
      last = { ok: busy, detail }
    }
    if (closed) return
    const pause = Math.max(intervalMs, LEAST_PAUSE_PER_TEST * (performance.now() - started))
    timer = setTimeout(() => void ask(), last.ok ? pause : intervalMs).unref()
  }
  const first = ask()

  return {
    /** The last result; waits for the first. */
    check: async (): Promise<{ readonly name: string; readonly ok: boolean; readonly detail: string }> => {
      await first
      return { name: 'question', ok: false, detail: 'not asked yet', ...last }
    },
    close: (): void => {
      closed = true
      clearTimeout(timer)
    },
  }
}
