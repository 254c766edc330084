import { CodedError } from '../../../base/errors.ts'
import type { Order } from './entry.ts'

/** Why a job gets no result of its own: what the pool tells its caller. */

export function abandoned(): CodedError {
  return new CodedError('client_closed', 'The client closed the connection.')
}

/** New work meets a pool that is closing. */
export function shuttingDown(): CodedError {
  return new CodedError('not_ready', 'The service is shutting down.')
}

/** Accepted work was not done by the end of the drain. */
export function cutOff(): CodedError {
  return new CodedError('not_ready', 'The service shut down before the request was done.')
}

/** The run itself, not the waiting, took longer than any may. */
export function overlong(maxRunMs: number): CodedError {
  return new CodedError('deadline_exceeded', `The run took more than ${maxRunMs} ms (CEPE_MAX_RUN_MS). Send a smaller request.`)
}

/** @param doing what the time went into */
export function late({ since, deadlineAt }: Order, doing: string, retryAfterS: number): CodedError {
  const allowedMs = Math.round(deadlineAt - since)
  const remedy = 'Try again later, allow more time or send a smaller request.'
  return new CodedError('deadline_exceeded', `The request did not finish within ${allowedMs} ms (${doing}). ${remedy}`, { retryAfterS })
}

/** More wait than may. @param waiting how many */
export function queueFull(role: string, waiting: number, retryAfterS: number): CodedError {
  return new CodedError('overloaded', `${waiting} requests are waiting for the ${role} already. Try again later.`, { retryAfterS })
}

/** @param reason why no process stays up; @param waitMs until the next start */
export function unavailable(role: string, reason: CodedError, waitMs: number): CodedError {
  return new CodedError('not_ready', `No ${role} process can be kept running: ${reason.message}`, {
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
    cause: reason,
  })
}
