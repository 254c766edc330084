import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { Type, type Static } from 'typebox'
import { at } from '../../../base/at.ts'
import { ERROR_STATUS } from '../status.ts'
import { CodedError, messageOf, type ErrorCode } from '../../../base/errors.ts'

/** The body of every answer that is not 2xx. */
export const ErrorBodySchema = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'Stable: programs may depend on it.' }),
    message: Type.String({ description: 'For people: what is wrong, where, and what to do.' }),
    field: Type.Optional(Type.String({ description: 'The offending field of the request.' })),
    request_id: Type.String(),
  }),
})
type ErrorBody = Static<typeof ErrorBodySchema>

export interface Described {
  readonly status: number
  readonly code: ErrorCode
  readonly message: string
  readonly field?: string
  readonly retryAfterS?: number
}

const FASTIFY_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_REQ_FILE_TOO_LARGE: 'payload_too_large',
  FST_ERR_HANDLER_TIMEOUT: 'deadline_exceeded',
}

const HIDDEN = 'Something went wrong inside the service; the log has the details under this request_id.'

/** One error handler for all routes: user errors keep their message, internal ones keep it in the log. */
export function registerErrors(app: FastifyInstance): void {
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) => {
    const message = `There is no ${request.method} ${at(request.url.split('?'), 0)}: see /docs for the routes.`
    return reply.code(404).send(body({ status: 404, code: 'not_found', message }, request.id))
  })
}

/** Answers with the error's code, status and message, and logs it. */
export function sendError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const described = describe(error)
  const level = described.status >= 500 && described.code !== 'overloaded' ? 'error' : 'info'
  request.log[level]({ err: error, code: described.code }, 'request failed')
  if (described.retryAfterS !== undefined) void reply.header('retry-after', String(described.retryAfterS))
  return reply.code(described.status).send(body(described, request.id))
}

function body({ code, message, field }: Described, requestId: string): ErrorBody {
  return {
    error: { code, message, ...(field !== undefined && { field }), request_id: requestId },
  }
}

/** What is said of an error, whatever its body looks like. */
export function describe(error: FastifyError): Described {
  if (error.validation) return describeValidation(error.validation, error.validationContext ?? 'body')
  const code = codeOf(error)
  if (code === undefined) return { status: 500, code: 'internal', message: HIDDEN }
  const { field, retryAfterS } = error instanceof CodedError ? error : {}
  const message = code === 'internal' ? HIDDEN : messageOf(error)
  return {
    status: ERROR_STATUS[code],
    code,
    message,
    ...(field !== undefined && { field }),
    ...(retryAfterS !== undefined && { retryAfterS }),
  }
}

function codeOf(error: FastifyError): ErrorCode | undefined {
  if (error instanceof CodedError) return error.code
  const known = FASTIFY_CODES[error.code ?? '']
  if (known !== undefined) return known
  if (error.statusCode === 429) return 'rate_limited'
  if (error.statusCode === 404) return 'not_found'
  if (error.statusCode === 401) return 'unauthorized'
  if (error.statusCode === 503) return 'overloaded'
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) return 'invalid_request'
  return undefined
}

function describeValidation(errors: readonly FastifySchemaValidationError[], where: string): Described {
  const invalid = (message: string, field?: string): Described => ({
    status: ERROR_STATUS.invalid_request,
    code: 'invalid_request',
    message,
    ...(field !== undefined && { field }),
  })
  const unknown = errors.find((error) => error.keyword === 'additionalProperties')
  if (unknown) {
    const names = unknown.params['additionalProperties']
    const name = String(Array.isArray(names) ? names[0] : names)
    const field = fieldOf(`${unknown.instancePath}/${name}`)
    return invalid(`${field} is not a known field; see /docs for the fields of this route.`, field)
  }
  const [error] = errors
  if (error === undefined) return invalid(`The ${where} is not valid.`)
  if (error.keyword === 'required') {
    const missing = error.params['requiredProperties']
    const field = fieldOf(`${error.instancePath}/${String(Array.isArray(missing) ? missing[0] : missing)}`)
    return invalid(`${field} is missing.`, field)
  }
  const field = fieldOf(error.instancePath)
  return invalid(`${field === '' ? `The ${where}` : field} ${problemOf(error)}.`, field === '' ? undefined : field)
}

function fieldOf(pointer: string): string {
  return pointer.split('/').filter(Boolean).join('.')
}

function problemOf(error: FastifySchemaValidationError): string {
  if (error.keyword === 'pattern' && error.params['pattern'] === '\\S') return 'must not be blank'
  if (error.keyword === 'enum' && Array.isArray(error.params['allowedValues']))
    return `must be one of ${error.params['allowedValues'].join(', ')}`
  if (error.keyword === 'minLength') return `must not be shorter than ${String(error.params['limit'])} characters`
  if (error.keyword === 'maxLength') return `must not be longer than ${String(error.params['limit'])} characters`
  return error.message ?? 'is not valid'
}

/** Reason phrase for a status, for the API documentation. */
export function reason(status: number): string {
  return STATUS_CODES[status] ?? String(status)
}

/** Error responses of a route, for its schema. */
export function errorResponses(...statuses: number[]) {
  return Object.fromEntries(statuses.map((status) => [status, { ...ErrorBodySchema, description: reason(status) }]))
}
