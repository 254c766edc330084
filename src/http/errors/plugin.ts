import fp from 'fastify-plugin'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CodedError } from '../../../base/errors.ts'
import { setErrorHeaders } from './error-headers.ts'
import type { PublicText } from './public-text.ts'
import { errorBody, reportError } from './describe-error.ts'

export interface ErrorsOptions {
  readonly publicText: PublicText
}

/** One error handler for all routes. */
export const errors = fp((app: FastifyInstance, { publicText }: ErrorsOptions, done) => {
  app.setErrorHandler(errorSender(publicText))
  // Required by HTTP/1.1; Node's own rejection has no body.
  app.addHook('onRequest', (request, _reply, next) => {
    const needed = request.raw.httpVersion === '1.1' && request.headers.host === undefined
    next(needed ? new CodedError('invalid_request', 'The header Host is missing: HTTP/1.1 requires it.', { field: 'Host' }) : undefined)
  })
  done()
})

/** Sends an error's code, status and message, and logs it in full. */
export function errorSender(publicText: PublicText) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const described = reportError(error, request, publicText)
    setErrorHeaders(reply, request, described)
    return reply.code(described.status).type('application/json; charset=utf-8').send(errorBody(described, request))
  }
}
