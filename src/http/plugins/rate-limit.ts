import rateLimiter from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { isProbe } from '../observability/probes.ts'

export interface RateLimitOptions {
  /** Requests per minute and client; 0 for no limit. */
  readonly perMinute: number
}

/** Limits requests per minute and client address, before any other check: requests without a valid key or for unknown routes count too. */
export const rateLimit = fp(async (app: FastifyInstance, { perMinute }: RateLimitOptions) => {
  await app.register(rateLimiter, { global: false, max: perMinute, timeWindow: '1 minute', allowList: isProbe })
  if (perMinute > 0) app.addHook('onRequest', app.rateLimit())
})
