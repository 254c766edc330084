import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../../base/errors.ts'
import type { Observer } from '../../inference/observer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    observers: Observer[]
    failedWith: ErrorCode | null
  }
}

/** Adds observers to every request. */
export function observers(app: FastifyInstance): void {
  app.decorateRequest('failedWith', null)
  app.decorateRequest('observers')
  app.addHook('onRequest', (request, _reply, next) => {
    request.observers = []
    next()
  })
}

/** Combines observers. */
export function together(all: readonly Observer[]): Observer {
  return {
    stage: (...args) => all.forEach((one) => one.stage(...args)),
    tokens: (...args) => all.forEach((one) => one.tokens(...args)),
    generated: (args) => all.forEach((one) => one.generated?.(args)),
  }
}

/** True for routes of probes, which bypass rate limits and admission. */
export function isProbe({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/healthz' || routeOptions.url === '/readyz'
}
