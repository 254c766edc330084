import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import type { ErrorCode } from '../../../base/errors.ts'
import type { Observer } from '../../inference/observer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Observer of the work for it. */
    observers: Observer[]
    /** Code of the error that it was answered with. */
    failedWith: ErrorCode | null
  }
}

/** Room on every request for those who watch the work for it. */
export const observers = fp((app: FastifyInstance, _options: object, done) => {
  app.decorateRequest('failedWith', null)
  app.decorateRequest('observers')
  app.addHook('onRequest', (request, _reply, next) => {
    request.observers = []
    next()
  })
  done()
})

/** All of them as one. */
export function together(all: readonly Observer[]): Observer {
  return {
    stage: (...told) => all.forEach((one) => one.stage(...told)),
    tokens: (...told) => all.forEach((one) => one.tokens(...told)),
    generated: (told) => all.forEach((one) => one.generated?.(told)),
  }
}
