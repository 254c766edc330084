import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CodedError, type ErrorCode } from '../../../base/errors.ts'
import type { PublicText } from './public-text.ts'
import { errorBody, reportError, type Described } from './describe-error.ts'

declare module 'fastify' {
  interface FastifyInstance {
    publicText: PublicText
  }
}

/** One error handler for all routes. */
export function errors(app: FastifyInstance, publicText: PublicText): void {
  app.decorate('publicText', publicText)
  app.setErrorHandler(errorSender())
  // Required by HTTP/1.1; Node's own rejection has no body.
  app.addHook('onRequest', (request, _reply, next) => {
    const needed = request.raw.httpVersion === '1.1' && request.headers.host === undefined
    next(needed ? new CodedError('invalid_request', 'The header Host is missing: HTTP/1.1 requires it.', { field: 'Host' }) : undefined)
  })
}

/** Sends an error's code, status and message, and logs it in full. @param bodyOf its body, for clients that expect another than the documented one */
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
