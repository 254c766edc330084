import rateLimiter, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isProbe } from '../observability/probes.ts'

export interface RateLimitOptions {
  /** Requests per minute and client; 0 for no limit. */
  readonly perMinute: number
}

/** Clients whose windows are counted at a time. */
const MOST_CLIENTS = 5000

/** Counts of requests in windows of a monotonic clock: the plugin's own store compares times of the wall clock, which may be set back. */
class Windows implements FastifyRateLimitStore {
  readonly #counts = new LRUCache<string, number>({ max: MOST_CLIENTS, noUpdateTTL: true })

  incr(client: string, callback: (error: Error | null, window: { current: number; ttl: number }) => void, ttl: number): void {
    const current = (this.#counts.get(client) ?? 0) + 1
    this.#counts.set(client, current, { ttl })
    callback(null, { current, ttl: this.#counts.getRemainingTTL(client) })
  }

  child(): Windows {
    return new Windows()
  }
}

/** Limits requests per minute and client address, before any other check: requests without a valid key or for unknown routes count too. */
export const rateLimit = fp(async (app: FastifyInstance, { perMinute }: RateLimitOptions) => {
  await app.register(rateLimiter, { global: false, max: perMinute, timeWindow: '1 minute', allowList: isProbe, store: Windows })
  if (perMinute > 0) app.addHook('onRequest', app.rateLimit())
})
