/** Details of a failed request. */
export interface ErrorDetails {
  readonly status?: number | undefined
  readonly field?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterS?: number | undefined
  readonly cause?: unknown
}

/**
 * A failed request. `code` is the service's (see its documentation of errors), or one of the client's: `options_invalid`,
 * `service_unreachable` (no connection, or a broken one) and `unexpected_response` (not a cepe service).
 */
export class CepeError extends Error {
  readonly code: string
  /** HTTP status; absent without a response, and for errors within a stream. */
  readonly status?: number
  /** The invalid field of the request. */
  readonly field?: string
  /** The request's id in the service's log. */
  readonly requestId?: string
  /** Seconds after which a retry may succeed. */
  readonly retryAfterS?: number

  constructor(code: string, message: string, { status, field, requestId, retryAfterS, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CepeError'
    this.code = code
    if (status !== undefined) this.status = status
    if (field !== undefined) this.field = field
    if (requestId !== undefined) this.requestId = requestId
    if (retryAfterS !== undefined) this.retryAfterS = retryAfterS
  }
}

/** Parses an error body; undefined if it is not one. */
export function errorFrom(body: unknown, details: ErrorDetails = {}): CepeError | undefined {
  const error = fieldOf(body, 'error')
  const [code, message, field, requestId] = ['code', 'message', 'field', 'request_id'].map((name) => {
    const value = fieldOf(error, name)
    return typeof value === 'string' ? value : undefined
  })
  return code === undefined || message === undefined ? undefined : new CepeError(code, message, { ...details, field, requestId })
}

/** Error for a connection that could not be made, or that broke. */
export function unreachable(url: string, thrown: unknown): CepeError {
  const reason = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown
  const said = reason instanceof Error ? reason.message : String(reason)
  return new CepeError('service_unreachable', `The service at ${url} does not answer (${said}).`, { cause: thrown })
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}
