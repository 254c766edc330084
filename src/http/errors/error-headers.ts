import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../../base/errors.ts'
import type { Described } from './describe-error.ts'

/** Default Retry-After in seconds. */
const PAUSE_S: Partial<Readonly<Record<ErrorCode, number>>> = { overloaded: 5, not_ready: 5, rate_limited: 60 }

/** WWW-Authenticate without a valid key (RFC 9110, section 11.6.1, and RFC 6750, section 3). */
const CHALLENGE = 'Bearer realm="cepe-qa"'

/** Sets the headers of an error, for any route. */
export function setErrorHeaders(
  reply: FastifyReply,
  { headers }: Pick<FastifyRequest, 'headers'>,
  { status, code, retryAfterS = PAUSE_S[code] }: Pick<Described, 'status' | 'code' | 'retryAfterS'>,
): void {
  // The rate-limit plugin has set its own.
  if (retryAfterS !== undefined && !reply.hasHeader('retry-after')) void reply.header('retry-after', String(Math.ceil(retryAfterS)))
  if (status === 401)
    void reply.header('www-authenticate', headers.authorization === undefined ? CHALLENGE : `${CHALLENGE}, error="invalid_token"`)
}

const retryAfter = {
  'retry-after': { type: 'integer', description: 'Seconds after which to send the request again, where waiting helps.' },
}
const DOCUMENTED: Readonly<Record<number, object>> = {
  401: { 'www-authenticate': { type: 'string', description: 'The kind of key that is wanted (RFC 6750).' } },
  429: retryAfter,
  503: retryAfter,
  504: retryAfter,
}

/** These headers in a response's schema. */
export function documentedHeaders(status: number): { readonly headers?: object } {
  const headers = DOCUMENTED[status]
  return headers === undefined ? {} : { headers }
}
