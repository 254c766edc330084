import { CodedError, messageOf, type ErrorCode } from '../../../base/errors.ts'
import { isDiskFull } from '../../../base/failures.ts'

/** Errors of the corpus or the options: the job fails. After any other error it stops and can be resumed. */
export const FINAL: readonly ErrorCode[] = ['corpus_invalid', 'invalid_request', 'not_found', 'payload_too_large', 'unsupported_media_type']

/** Converts an error to the `error` field of a job. */
export function toJobError(error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof CodedError) return { code: error.code, message: error.message }
  if (isDiskFull(error)) return { code: 'disk_full', message: 'The disk is full: free space, then resume the job.' }
  return { code: 'internal', message: messageOf(error) }
}
