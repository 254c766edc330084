import allow from '@fastify/cors'
import type { FastifyInstance, FastifyReply } from 'fastify'

const A_DAY_S = 86_400

/** Headers that pages may read in addition to the safelisted ones. */
const EXPOSED = [
  'x-request-id',
  'retry-after',
  'www-authenticate',
  'idempotency-replayed',
  'location',
  'allow',
  'x-cepe-ignored',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
]

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
