import { messageOf, type ErrorCode } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'

/** Errors of the corpus or the options: the job fails. After any other error it stops and can be resumed. */
export const FINAL: readonly ErrorCode[] = ['corpus_invalid', 'invalid_request', 'not_found', 'payload_too_large', 'unsupported_media_type']

/** Converts an error to the `error` field of a job. */
export function toJobError(error: unknown): { code: ErrorCode; message: string } {
  const { code = 'internal' as const, message = messageOf(error) } = failureOf(error) ?? {}
  return { code, message }
}
