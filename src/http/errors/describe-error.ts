import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientClosed, CodedError, ERROR_STATUS, messageOf, osCode, type ErrorCode, type ErrorDetails } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import { describeValidation } from './describe-validation.ts'
import type { ErrorBody } from './error-body.ts'
import type { PublicText } from './public-text.ts'

export interface Described extends Pick<CodedError, 'code' | 'message'>, ErrorDetails {
  readonly status: number
}

declare module 'fastify' {
  interface FastifyInstance {
    publicText: PublicText
  }
  interface FastifyContextConfig {
    /** Media types of the body, if other than JSON. */
    accepts?: readonly string[]
  }
}

/** Codes of the framework's errors, if other than that of their status. */
const FASTIFY_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_HANDLER_TIMEOUT: 'deadline_exceeded',
  // A response was being sent.
  ERR_STREAM_PREMATURE_CLOSE: 'client_closed',
}

/** Invalid requests that the framework and the form parser name without a helpful explanation. */
const INVALID: Readonly<Record<string, { readonly message: string; readonly field?: string }>> = {
  FST_ERR_BAD_URL: { message: 'The path of the URL is not valid: percent signs must begin the bytes of UTF-8.' },
  FST_ERR_MAX_PARAM_LENGTH: { message: 'A path parameter is longer than the longest id (512 bytes).' },
  FST_FILES_LIMIT: { message: 'The form holds more than one file: send one.', field: 'file' },
  FST_PROTO_VIOLATION: { message: 'A field of the form is named like a property of every object: leave it out.', field: 'form' },
  'broken form': { message: 'The form is cut off, or its boundary is not that of content-type: send it again, whole.', field: 'form' },
  FST_FIELDS_LIMIT: { message: 'The form has too many fields: send each field once.', field: 'form' },
}

const STATUS_CODE: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  404: 'not_found',
  408: 'request_timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'overloaded',
}

/** Errors of reading a body whose client has left. */
const LEFT = ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR']
/** Errors of the form parser for a body that is not a complete form. */
const BROKEN_FORM = /^Multipart: |unexpected end of (form|multipart data)|^Malformed (part|content)/i

const HIDDEN = 'Something went wrong inside the service; the log has the details under this request_id.'

/** Code, status and message of an error: errors of the user are explained, internal ones are only logged. */
function describeError(error: FastifyError, request: FastifyRequest): Described {
  const { validation, validationContext: where = 'body' } = error
  if (validation) return { status: ERROR_STATUS.invalid_request, code: 'invalid_request', ...describeValidation(validation, where) }
  const failure = request.raw.errored && LEFT.includes(osCode(error) ?? '') ? clientClosed() : failureOf(error)
  const invalid = INVALID[BROKEN_FORM.test(messageOf(error)) ? 'broken form' : (error.code ?? '')]
  const code = failure?.code ?? (invalid ? 'invalid_request' : codeOf(error))
  const status = ERROR_STATUS[code]
  if (code === 'internal') return { status, code, message: HIDDEN }
  if (failure !== undefined) return { status, code, message: failure.message, field: failure.field, retryAfterS: failure.retryAfterS }
  return { status, code, message: inOurWords(code, request) ?? messageOf(error), ...invalid }
}

/** Names the allowed values where the framework does not. */
function inOurWords(code: ErrorCode, { headers, routeOptions }: FastifyRequest): string | undefined {
  if (code === 'payload_too_large')
    return `The body is larger than the ${routeOptions.bodyLimit} bytes that are allowed (CEPE_BODY_LIMIT_KB).`
  if (code !== 'unsupported_media_type') return undefined
  const given = headers['content-type']?.trim() ?? ''
  const allowed = routeOptions.config.accepts ?? ['application/json']
  return `${given === '' ? 'The body has no content-type' : `The media type ${given.slice(0, 100)} is not supported`}: send ${allowed.join(', ')}.`
}

function codeOf({ code, statusCode = 500 }: FastifyError): ErrorCode {
  return FASTIFY_CODES[code] ?? STATUS_CODE[statusCode] ?? (statusCode >= 400 && statusCode < 500 ? 'invalid_request' : 'internal')
}

/** Codes of an overloaded or closing service, which are not faults. */
const NO_ALARM: readonly ErrorCode[] = ['overloaded', 'not_ready']

/** Describes an error for the client and logs it in full. */
export function reportError(thrown: unknown, request: FastifyRequest): Described {
  const error = thrown as FastifyError
  const described = describeError(error, request)
  const { status, code, message, field } = described
  request.failedWith = code
  request.log[status >= 500 && !NO_ALARM.includes(code) ? 'error' : 'info']({ err: error, code }, 'request failed')
  const shown = (text: string): string => request.server.publicText(text, status < 500)
  return { ...described, message: shown(message), ...(field !== undefined && { field: shown(field) }) }
}

/** The documented body of an error. */
export function errorBody({ code, message, field }: Omit<Described, 'status'>, { id }: Pick<FastifyRequest, 'id'>): ErrorBody {
  return { error: { code, message, ...(field !== undefined && { field }), request_id: id } }
}

/** One error handler for all routes. */
export function errors(app: FastifyInstance, publicText: PublicText): void {
  app.decorate('publicText', publicText)
  app.setErrorHandler(errorSender())
  // Node's own rejections of these headers have no body, and close the connection of a client that is still sending.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', ({ raw: { httpVersion, headers } }, _reply, next) => {
    if (httpVersion === '1.1' && headers.host === undefined)
      return next(new CodedError('invalid_request', 'The header Host is missing: HTTP/1.1 requires it.', { field: 'Host' }))
    if (headers.expect === undefined || /\b100-continue\b/i.test(headers.expect)) return next()
    next(new CodedError('expectation_failed', 'Unsupported Expect header: only 100-continue is supported.', { field: 'Expect' }))
  })
}

/** Sends an error's code, status and message, and logs it in full. @param bodyOf its body, for clients that expect another form */
export function errorSender(bodyOf: (described: Described, request: FastifyRequest, error: FastifyError) => object = errorBody) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const described = reportError(error, request)
    setErrorHeaders(reply, request, described)
    return reply
      .code(described.status)
      .type('application/json; charset=utf-8')
      .send(bodyOf(described, request, error))
  }
}

/** Default Retry-After in seconds. */
const PAUSE_S: Partial<Readonly<Record<ErrorCode, number>>> = { overloaded: 5, not_ready: 5, rate_limited: 60 }

/** WWW-Authenticate without a valid key (RFC 9110, section 11.6.1, and RFC 6750, section 3). */
const CHALLENGE = 'Bearer realm="cepe-qa"'

function setErrorHeaders(
  reply: FastifyReply,
  { headers }: Pick<FastifyRequest, 'headers'>,
  { status, code, retryAfterS = PAUSE_S[code] }: Pick<Described, 'status' | 'code' | 'retryAfterS'>,
): void {
  // The rate-limit plugin has set its own.
  if (retryAfterS !== undefined && !reply.hasHeader('retry-after')) void reply.header('retry-after', String(Math.ceil(retryAfterS)))
  if (status === 401)
    void reply.header('www-authenticate', headers.authorization === undefined ? CHALLENGE : `${CHALLENGE}, error="invalid_token"`)
}
