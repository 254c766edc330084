import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Ids that may come in: what is safe in a log line and in a header. */
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** The client's own `x-request-id` where it is one that can be logged, else a new id. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** What every response carries: the request's id, and the headers that keep browsers from guessing and framing. */
export function setHeaders(reply: FastifyReply): void {
  void reply.headers({
    'x-request-id': reply.request.id,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
  })
}

/** Sets them first: whatever refuses a request later has them. */
export const headers = fp((app: FastifyInstance, _options: object, done) => {
  app.addHook('onRequest', (_request, reply, next) => {
    setHeaders(reply)
    next()
  })
  done()
})
