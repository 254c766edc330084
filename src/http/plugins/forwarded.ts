import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'

export interface ForwardedOptions {
  /** Whether a proxy's client address is trusted (CEPE_TRUST_PROXY). */
  readonly trusted: boolean
}

/** Warns once if requests come through an untrusted proxy: all of its clients then share one address. */
export const forwarded = fp((app: FastifyInstance, { trusted }: ForwardedOptions, done) => {
  let warned = trusted
  app.addHook('onRequest', (request, _reply, next) => {
    if (!warned && request.headers['x-forwarded-for'] !== undefined) {
      warned = true
      app.log.warn(
        { proxy: request.ip },
        'A request came with X-Forwarded-For, and no proxy is trusted: all clients of a proxy share the limits of its address. Set CEPE_TRUST_PROXY to the number of proxies in front of the service.',
      )
    }
    next()
  })
  done()
})
