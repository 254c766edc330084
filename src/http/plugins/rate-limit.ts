import rateLimiter from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { isProbe } from '../observability/probes.ts'

export interface RateLimitOptions {
  /** Requests per minute and client; 0 for no limit. */
  readonly perMinute: number
}

/**
 * Requests per minute and client address, counted before anything else is looked at: a request without the right key, or
 * for a route that does not exist, counts like any other.
 */
export const rateLimit = fp(async (app: FastifyInstance, { perMinute }: RateLimitOptions) => {
  await app.register(rateLimiter, { global: false, max: perMinute, timeWindow: '1 minute', allowList: isProbe })
  if (perMinute > 0) app.addHook('onRequest', app.rateLimit())
})
