import { STATUS_CODES } from 'node:http'
import type { Readable } from 'node:stream'
import { Type, type Static } from '#typebox'
import { ERROR_CODES } from '../../../base/errors.ts'
import { documentedHeaders } from './error-headers.ts'

/** The body of every response that is not 2xx. */
export const ErrorBodySchema = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'Stable: programs may depend on it.', examples: [ERROR_CODES[0]] }),
      message: Type.String({ description: 'For people: what is wrong, where, and what to do.' }),
      field: Type.Optional(Type.String({ description: 'The offending field of the request.' })),
      request_id: Type.String(),
    }),
  },
  { title: 'ErrorBody' },
)
export type ErrorBody = Static<typeof ErrorBodySchema>

/**
 * Statuses of any route: malformed request, unsupported `Expect`, another host, too many requests, oversized headers, internal error,
 * shutdown.
 */
const EVERYWHERE = [400, 417, 421, 429, 431, 500, 503]
/** Additional statuses of a route with a body: timeout, too large, unsupported type. */
const WITH_BODY = [408, 413, 415]

/** A response that is no JSON, for a route's schema: a text or bytes in one of these media types. */
export function mediaResponse(description: string, ...types: readonly string[]) {
  const schema = Type.Unsafe<Readable | string>({ type: 'string', format: 'binary' })
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

/** Error responses of a route without a body, for its schema: its own statuses and those of all routes. */
export function errorResponses(...statuses: number[]) {
  return Object.fromEntries([...new Set([...EVERYWHERE, ...statuses])].sort((a, b) => a - b).map((status) => [status, described(status)]))
}

/** Error responses of a route with a body, for its schema. */
export function bodyErrorResponses(...statuses: number[]) {
  return errorResponses(...WITH_BODY, ...statuses)
}

function described(status: number) {
  return { ...ErrorBodySchema, description: STATUS_CODES[status] ?? String(status), ...documentedHeaders(status) }
}
