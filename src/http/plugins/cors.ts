import allow from '@fastify/cors'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply } from 'fastify'

export interface CorsOptions {
  /** Origins whose pages may read answers; none: the service's own alone, as browsers have it. */
  readonly origins: readonly string[]
}

const A_DAY_S = 86_400

/** What pages may read of an answer, beside the few headers that they always may. */
const EXPOSED = [
  'x-request-id',
  'retry-after',
  'www-authenticate',
  'idempotency-replayed',
  'location',
  'allow',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
]

/**
 * Lets pages of listed origins ask. Keys travel in a header that pages set themselves, so no cookies or other credentials are let in.
 * Before whatever may refuse a request: a page can read why it was refused only where the refusal names its origin.
 * Any header may be sent: clients made for OpenAI's service send many of their own, and none opens anything here.
 */
export const cors = fp(async (app: FastifyInstance, { origins }: CorsOptions) => {
  if (origins.length === 0) return
  await app.register(allow, {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    exposedHeaders: EXPOSED,
    maxAge: A_DAY_S,
    strictPreflight: false,
  })
})

/** The same for a refusal that is sent before any plugin is asked. */
export function letRead(reply: FastifyReply, origins: readonly string[]): void {
  const { origin } = reply.request.headers
  if (origins.length > 0) void reply.header('vary', 'Origin')
  if (origin !== undefined && origins.includes(origin)) void reply.header('access-control-allow-origin', origin)
}
