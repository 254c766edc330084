/** Codes of all errors that a user can see, from any part of the product. Codes are part of the API: their meaning never changes. */
export const ERROR_CODES = [
  // Requests
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  /** A request names a collection that is not there, or that its key may not use. */
  'unknown_collection',
  'method_not_allowed',
  'conflict',
  'payload_too_large',
  'unsupported_media_type',
  'unprocessable',
  'expectation_failed',
  /** The request's Host is not this service's. */
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
  // Models: checkpoint_invalid, the input is broken; unsupported, it is valid but not supported; model_invalid, a built model is broken
  'checkpoint_invalid',
  'unsupported',
  'model_invalid',
  /** A Hugging Face hub does not answer; downloaded files are kept. */
  'hub_unreachable',
  // Index
  'index_missing',
  'index_invalid',
  'corpus_invalid',
  /** The object store of the index does not answer, or a folder cannot be read or written to. */
  'store_unavailable',
  // Documents: unreadable (broken, encrypted, of another encoding, above a limit), or without text (scanned)
  'document_invalid',
  'document_without_text',
  // Evaluation
  /** The question file (or passages, or training file) cannot be used. */
  'dataset_invalid',
  /** Options contradict each other or the data. */
  'options_invalid',
  /** The run folder holds a run with other options, data, model or index. */
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
  /** The invalid field, option, file or tensor, as the user wrote it. */
  readonly field?: string | undefined
  /** Seconds after which a retry may succeed. */
  readonly retryAfterS?: number | undefined
}

/** An error for users: its message names the problem, where it is, and the remedy. */
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

export function isErrorCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code)
}

/** The error of a field of a request. @param problem such as "is 5; it must be 1 to 4" */
export function invalidField(field: string, problem: string): CodedError {
  return new CodedError('invalid_request', `${field} ${problem}.`, { field })
}

/** The error of a valid request that the loaded model cannot serve. @param field that the remedy is about */
export function unprocessable(field: string, message: string, cause?: unknown): CodedError {
  return new CodedError('unprocessable', message, { field, cause })
}

export function clientClosed(): CodedError {
  return new CodedError('client_closed', 'The client closed the connection.')
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The operating system's code of a thrown error ('ENOENT', ...), or undefined. */
export function osCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

const SECRETS: readonly (readonly [RegExp, string])[] = [
  // User name and password of an address.
  [/(?<=:\/\/)[^\s/"@]+@|[\w.-]+:[^\s/"@:]+@(?=[\w[])/g, ''],
  // The query of an address or path.
  [/(?<=[\w/.~%-])\?[\w%[][^\s"'<>\\]*/g, '?(query)'],
  [/(?<=\bbearer +)[\w.~+/=-]+/gi, '(key)'],
  [/\bcepe_[\w-]{43}/g, '(key)'],
]

/** Removes credentials and queries of addresses, and keys, from a text for a log or an error. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((rest, [secret, shown]) => rest.replace(secret, shown), text)
}
