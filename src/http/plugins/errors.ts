import fp from 'fastify-plugin'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CodedError, type ErrorCode } from '../../../base/errors.ts'
import { describeError } from '../describe-error.ts'
import type { ErrorBody } from '../error-body.ts'
import type { PublicText } from '../public-text.ts'

export interface ErrorsOptions {
  readonly publicText: PublicText
}

/** Codes that say that the service is at its bounds, or its end, and not that something is wrong with it. */
const NO_ALARM: readonly ErrorCode[] = ['overloaded', 'not_ready']

/** One error handler for all routes. */
export const errors = fp((app: FastifyInstance, { publicText }: ErrorsOptions, done) => {
  app.setErrorHandler(errorSender(publicText))
  // Required by HTTP/1.1; Node's own refusal has no body.
  app.addHook('onRequest', (request, _reply, next) => {
    const needed = request.raw.httpVersion === '1.1' && request.headers.host === undefined
    next(needed ? new CodedError('invalid_request', 'The header Host is missing: HTTP/1.1 requires it.', { field: 'Host' }) : undefined)
  })
  done()
})

/** Answers with an error's code, status and message, and logs it whole. */
export function errorSender(publicText: PublicText) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { status, code, message, field, retryAfterS } = describeError(error, request)
    request.failedWith = code
    const level = status >= 500 && !NO_ALARM.includes(code) ? 'error' : 'info'
    request.log[level]({ err: error, code }, 'request failed')
    if (retryAfterS !== undefined) void reply.header('retry-after', String(retryAfterS))
    const body: ErrorBody = {
      error: {
        code,
        message: status >= 500 ? publicText(message) : message,
        ...(field !== undefined && { field }),
        request_id: request.id,
      },
    }
    return reply.code(status).type('application/json; charset=utf-8').send(body)
  }
}
