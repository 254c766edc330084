import allow from '@fastify/cors'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'

export interface CorsOptions {
  /** Origins whose pages may read answers; none: the service's own alone, as browsers have it. */
  readonly origins: readonly string[]
}

const A_DAY_S = 86_400

/** Lets pages of listed origins ask. Keys travel in a header that pages set themselves, so no cookies or other credentials are let in. */
export const cors = fp(async (app: FastifyInstance, { origins }: CorsOptions) => {
  if (origins.length === 0) return
  await app.register(allow, {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'x-request-id'],
    exposedHeaders: ['x-request-id', 'retry-after', 'www-authenticate', 'idempotency-replayed'],
    maxAge: A_DAY_S,
    strictPreflight: false,
  })
})
