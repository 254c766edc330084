/**
 * Every error that a user can meet has one code from this list and, over HTTP, the status beside it.
 * Codes are part of the API: they never change their meaning.
 */
export const ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  unsupported: 422,
  rate_limited: 429,
  client_closed: 499,
  internal: 500,
  inference_failed: 500,
  overloaded: 503,
  not_ready: 503,
  model_invalid: 503,
  index_missing: 503,
  index_invalid: 503,
  deadline_exceeded: 504,
  disk_full: 507,
  config_invalid: 500,
  checkpoint_invalid: 422,
  corpus_invalid: 422,
  dataset_invalid: 422,
  provider_unavailable: 503,
} as const satisfies Record<string, number>

export type ErrorCode = keyof typeof ERROR_STATUS

export interface ErrorDetails {
  /** The offending field, option or file, as the user wrote it. */
  readonly field?: string
  /** Seconds after which trying again makes sense. */
  readonly retryAfterS?: number
}

/** An error that is the user's to read: its message names what is wrong, where, and what to do. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AppError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return ERROR_STATUS[this.code]
  }
}

/** The message of whatever was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
