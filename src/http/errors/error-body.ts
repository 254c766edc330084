import { STATUS_CODES } from 'node:http'
import type { Readable } from 'node:stream'
import { Type, type Static } from 'typebox'
import type { ErrorCode } from '../../../base/errors.ts'

/** The body of every response that is not 2xx. */
export const ErrorBodySchema = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'Stable error code.', examples: ['invalid_request' satisfies ErrorCode] }),
      message: Type.String({ description: 'Human-readable: the problem and the remedy.' }),
      field: Type.Optional(Type.String({ description: 'The offending field of the request.' })),
      request_id: Type.String(),
    }),
  },
  { title: 'ErrorBody' },
)
export type ErrorBody = Static<typeof ErrorBodySchema>

/** A response that is no JSON, for a route's schema: a text or bytes in one of these media types. */
export function mediaResponse(description: string, ...types: readonly string[]) {
  const schema = Type.Unsafe<Readable | string>({ type: 'string', format: 'binary' })
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

/** Error responses for a route's schema. The documentation adds those of all routes. */
export function errorResponses(...statuses: number[]) {
  return documentedErrors(ErrorBodySchema, statuses)
}

const retryAfter = { 'retry-after': { type: 'integer', description: 'Seconds to wait before a retry.' } }
const HEADERS: Readonly<Record<number, object>> = {
  401: { 'www-authenticate': { type: 'string', description: 'Authentication scheme (RFC 6750).' } },
  429: retryAfter,
  503: retryAfter,
  504: retryAfter,
}

/** Responses with these statuses, their headers and one body, for a route's schema. */
export function documentedErrors<Body extends object>(body: Body, statuses: readonly number[]) {
  const described = statuses.map((status) => {
    const headers = HEADERS[status]
    return [status, { ...body, description: STATUS_CODES[status] ?? String(status), ...(headers && { headers }) }] as const
  })
  return Object.fromEntries(described)
}
