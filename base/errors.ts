/**
 * Every error that a user can meet has one code of this list, whichever part of the product it arose in.
 * Codes are part of the API: they never change their meaning.
 */
export const ERROR_CODES = [
  // Requests
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'conflict',
  'payload_too_large',
  'unsupported_media_type',
  'unprocessable',
  'expectation_failed',
  /** The request is for another host than this service. */
  'misdirected_request',
  'headers_too_large',
  'request_timeout',
  'rate_limited',
  'client_closed',
  // The service and its parts
  'internal',
  'inference_failed',
  'overloaded',
  'not_ready',
  'deadline_exceeded',
  'disk_full',
  'config_invalid',
  'provider_unavailable',
  // Models: checkpoint_invalid, the input is broken; unsupported, it is sound but not handled; model_invalid, a built model is broken
  'checkpoint_invalid',
  'unsupported',
  'model_invalid',
  /** A Hugging Face hub does not answer; what was fetched is kept. */
  'hub_unreachable',
  // Index
  'index_missing',
  'index_invalid',
  'corpus_invalid',
  /** The object store of the index does not answer. */
  'store_unavailable',
  // Documents: one that cannot be read (broken, encrypted, of another encoding, beyond a bound), and one that has no text (scanned)
  'document_invalid',
  'document_without_text',
  // Evaluation
  /** The question file (or passages, or training file) cannot be used. */
  'dataset_invalid',
  /** Options that contradict each other or the data. */
  'options_invalid',
  /** The run folder holds a run of other options, data, model or index. */
  'run_mismatch',
  /** The folder holds no readable run. */
  'run_invalid',
  /** The service stopped answering; the run can be resumed. */
  'service_unreachable',
  /** Every question was skipped. */
  'nothing_scored',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

export interface ErrorDetails {
  /** The offending field, option, file or tensor, as the user wrote it. */
  readonly field?: string | undefined
  /** Seconds after which trying again makes sense. */
  readonly retryAfterS?: number | undefined
}

/** An error that is the user's to read: its message names what is wrong, where, and what to do. */
export class CodedError extends Error {
  readonly code: ErrorCode
  readonly field?: string
  readonly retryAfterS?: number

  constructor(code: ErrorCode, message: string, { field, retryAfterS, cause }: ErrorDetails & { readonly cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CodedError'
    this.code = code
    if (field !== undefined) this.field = field
    if (retryAfterS !== undefined) this.retryAfterS = retryAfterS
  }
}

/** True for a string that is one of the codes. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code)
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The operating system's code of a thrown error ('ENOENT', ...), or undefined. */
export function osCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
