/**
 * Codes of all errors that a user can see, from any part of the product, with their HTTP status. Codes are part of the API: their meaning
 * never changes. Codes of the command line have 500: in a request they are bugs.
 */
export const ERROR_STATUS = {
  // Requests
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  /** A request names a collection that is not there, or that its key may not use. */
  unknown_collection: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  expectation_failed: 417,
  /** The request's Host is not this service's. */
  misdirected_request: 421,
  headers_too_large: 431,
  request_timeout: 408,
  rate_limited: 429,
  client_closed: 499,
  // The service and its parts
  internal: 500,
  inference_failed: 500,
  overloaded: 503,
  not_ready: 503,
  deadline_exceeded: 504,
  disk_full: 507,
  config_invalid: 500,
  provider_unavailable: 503,
  // Models: checkpoint_invalid, the input is broken; unsupported, it is valid but not supported; model_invalid, a built model is broken
  checkpoint_invalid: 422,
  unsupported: 422,
  model_invalid: 503,
  /** A Hugging Face hub does not answer; downloaded files are kept. */
  hub_unreachable: 500,
  // Index
  index_missing: 503,
  index_invalid: 503,
  corpus_invalid: 422,
  /** The object store of the index does not answer, or a folder cannot be read or written to. */
  store_unavailable: 503,
  // Documents: unreadable (broken, encrypted, of another encoding, above a limit), or without text (scanned)
  document_invalid: 422,
  document_without_text: 422,
  // Evaluation
  /** The question file (or passages, or training file) cannot be used. */
  dataset_invalid: 500,
  /** Options contradict each other or the data. */
  options_invalid: 500,
  /** The run folder holds a run with other options, data, model or index. */
  run_mismatch: 500,
  /** The folder holds no readable run. */
  run_invalid: 500,
  /** The service stopped answering; the run can be resumed. */
  service_unreachable: 500,
  /** Every question was skipped. */
  nothing_scored: 500,
} as const

export type ErrorCode = keyof typeof ERROR_STATUS

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
  return typeof code === 'string' && Object.hasOwn(ERROR_STATUS, code)
}

/** The error of a field of a request. @param problem such as "is 5; it must be 1 to 4" */
export function invalidField(field: string, problem: string): CodedError {
  return invalidRequest(field, `${field} ${problem}.`)
}

/** Makes the errors of a code. Their `field` is what the remedy is about: of a request, a setting, an option, a file. */
function errorsOf(code: ErrorCode) {
  return (field: string | undefined, message: string, cause?: unknown): CodedError => new CodedError(code, message, { field, cause })
}

/** An invalid request. */
export const invalidRequest = errorsOf('invalid_request')
/** A valid request that the loaded model cannot serve. */
export const unprocessable = errorsOf('unprocessable')
/** An index whose files are not as they must be. */
export const invalidIndex = errorsOf('index_invalid')
/** A setting that cannot work. Its message shows no credentials of an address. */
export const invalidConfig: ReturnType<typeof errorsOf> = (field, message, cause) =>
  errorsOf('config_invalid')(field, withoutSecrets(message), cause)
/** A corpus, or a table of it, that cannot be read. */
export const invalidCorpus = errorsOf('corpus_invalid')
/** A built model that is broken. */
export const invalidModel = errorsOf('model_invalid')
/** An option of the command line, or of a job or key, that cannot be. */
export const invalidOption = errorsOf('options_invalid')
/** A folder with too little space. */
export const diskFull = errorsOf('disk_full')
export const notFound = errorsOf('not_found')
/** A request that the present state rules out. */
export const conflict = errorsOf('conflict')

export function clientClosed(): CodedError {
  return new CodedError('client_closed', 'The client closed the connection.')
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** An error's message as part of a sentence: without its full stop. */
export function reasonOf(thrown: unknown): string {
  return messageOf(thrown).replace(/\.$/, '')
}

/** The operating system's code of a thrown error ('ENOENT', ...), or undefined. */
export function osCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** Continues with `otherwise` after an error with one of the system's codes; throws others again. */
export function onCode<T>(codes: readonly string[], otherwise: (error: unknown) => T): (error: unknown) => T {
  return (error) => {
    if (codes.includes(osCode(error) ?? '')) return otherwise(error)
    throw error
  }
}

/** What `work` returns; another value if it throws. */
export function attempt<T, U>(work: () => T, otherwise: U): T | U {
  try {
    return work()
  } catch {
    return otherwise
  }
}

/** What `work` returns; throws the error that `explain` makes of what it throws. */
export function orThrow<T>(work: () => T, explain: (thrown: unknown) => unknown): T {
  try {
    return work()
  } catch (error) {
    throw explain(error)
  }
}

/** For `catch`: throws what the check of a possible cause throws, else the error again. */
export function explainedBy(check: () => Promise<unknown>): (error: unknown) => Promise<never> {
  return async (error) => {
    await check()
    throw error
  }
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
