import { CodedError } from '../../../base/errors.ts'
import type { SubmittedTask } from './pending-task.ts'

/** Errors of tasks that the pool does not complete. */

/** A new task while the pool is closing. */
export function shuttingDown(): CodedError {
  return new CodedError('not_ready', 'The service is shutting down.')
}

/** An accepted task that did not finish before the end of the graceful shutdown. */
export function cutOff(): CodedError {
  return new CodedError('not_ready', 'The service shut down before the request was done.')
}

/** The run exceeded the limit of a run. */
export function overlong(maxRunMs: number): CodedError {
  return new CodedError('deadline_exceeded', `The run took more than ${maxRunMs} ms (CEPE_MAX_RUN_MS). Send a smaller request.`)
}

/** @param doing how the time was spent */
export function late({ since, deadlineAt }: SubmittedTask, doing: string, retryAfterS: number): CodedError {
  const allowedMs = Math.round(deadlineAt - since)
  const remedy = 'Try again later, allow more time or send a smaller request.'
  return new CodedError('deadline_exceeded', `The request did not finish within ${allowedMs} ms (${doing}). ${remedy}`, { retryAfterS })
}

/** The queue is full. @param waiting its length */
export function queueFull(role: string, waiting: number, retryAfterS: number): CodedError {
  return new CodedError('overloaded', `${waiting} requests are waiting for the ${role} already. Try again later.`, { retryAfterS })
}

/** @param reason why no process stays up @param waitMs until the next start */
export function unavailable(role: string, reason: CodedError, waitMs: number): CodedError {
  return new CodedError('not_ready', `No ${role} process can be kept running: ${reason.message}`, {
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
    cause: reason,
  })
}
