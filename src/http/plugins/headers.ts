import allow from '@fastify/cors'
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

const A_DAY_S = 86_400

/** Headers that pages may read in addition to the safelisted ones. */
const EXPOSED =
  'x-request-id, retry-after, www-authenticate, idempotency-replayed, location, allow, x-cepe-ignored, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset'

/**
 * Allows pages of listed origins. Keys are sent in a header set by the page, so cookies and other credentials are not allowed. Runs before
 * any hook that can reject a request, since a page can only read a rejection with CORS headers. All request headers are allowed: clients
 * made for OpenAI's service send many of their own.
 * @param origins whose pages may read responses; none: the service's own only
 */
export async function cors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  await app.register(allow, {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders: EXPOSED,
    maxAge: A_DAY_S,
    strictPreflight: false,
  })
}

/** The same for a rejection before any plugin runs. */
export function letRead(reply: FastifyReply, origins: readonly string[]): void {
  const { origin } = reply.request.headers
  if (origins.length > 0) void reply.header('vary', 'Origin')
  if (origin !== undefined && origins.includes(origin)) void reply.header('access-control-allow-origin', origin)
}
