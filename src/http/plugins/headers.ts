import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Request ids that are safe in log lines and headers. */
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** The client's `x-request-id` if valid, else a new id. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** Sets the headers of every response: the request's id, and those against content sniffing and framing. */
export function setHeaders(reply: FastifyReply): void {
  void reply.headers({
    'x-request-id': reply.request.id,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
  })
}

/** Runs first, so that rejected requests have them too. */
export function headers(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, next) => {
    setHeaders(reply)
    next()
  })
}
