import rateLimiter, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isProbe } from '../observability/observers.ts'

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

/**
 * Limits requests per minute and client address, before any other check: requests without a valid key or for unknown routes count too.
 * @param perMinute 0 for no limit
 */
export async function rateLimit(app: FastifyInstance, perMinute: number): Promise<void> {
  await app.register(rateLimiter, { global: false, max: perMinute, timeWindow: '1 minute', allowList: isProbe, store: Windows })
  if (perMinute > 0) app.addHook('onRequest', app.rateLimit())
}

const UNTRUSTED =
  'A request came with X-Forwarded-For, and no proxy is trusted: all clients of a proxy share the limits of its address. Set CEPE_TRUST_PROXY to the number of proxies in front of the service.'

/** Warns once if requests come through an untrusted proxy (CEPE_TRUST_PROXY): all of its clients then share one address. */
export function forwarded(app: FastifyInstance, trustProxy: string): void {
  let warned = trustProxy !== ''
  app.addHook('onRequest', (request, _reply, next) => {
    if (!warned && request.headers['x-forwarded-for'] !== undefined) {
      warned = true
      app.log.warn({ proxy: request.ip }, UNTRUSTED)
    }
    next()
  })
}
