import type { FastifyInstance, FastifyReply } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import { CodedError } from '../../../base/errors.ts'
import { isProbe } from '../observability/observers.ts'
import { refuseBody } from './bodies.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Rejects new requests with 503 and waits for running ones, for `ms` at most. */
    drain(ms: number): Promise<void>
  }
}

/** Time for running request bodies to arrive after shutdown begins. */
const BODY_MS = 1_000
/** Time for responses to be delivered after the server has stopped listening. */
const CUT_MS = 1_000

/** Graceful shutdown: running requests are completed, new ones are rejected, and no connection keeps the server open. */
export function gracefulShutdown(app: FastifyInstance): void {
  const running = new Set<FastifyReply>()
  let draining = false
  let onIdle: (() => void) | undefined

  app.addHook('onRequest', (request, reply, next) => {
    if (draining && !isProbe(request)) return next(shuttingDown())
    running.add(reply)
    reply.raw.once('close', () => {
      running.delete(reply)
      if (running.size === 0) onIdle?.()
    })
    next()
  })
  app.addHook('onSend', (_request, reply, payload, next) => {
    if (draining) void reply.header('connection', 'close')
    next(null, payload)
  })
  app.addHook('preClose', (next) => {
    draining = true
    setTimeout(() => app.server.closeAllConnections(), CUT_MS).unref()
    next()
  })

  app.decorate('drain', async (ms: number) => {
    draining = true
    app.server.closeIdleConnections()
    const refuseBodies = setTimeout(
      () => {
        for (const reply of running) if (!reply.request.raw.complete && !reply.sent) refuseBody(reply, shuttingDown())
      },
      Math.min(BODY_MS, ms),
    )
    const idle = new Promise<void>((resolve) => (onIdle = resolve))
    if (running.size > 0) await Promise.race([idle, delay(ms, undefined, { ref: false })])
    clearTimeout(refuseBodies)
  })
}

function shuttingDown(): CodedError {
  return new CodedError('not_ready', 'The service is shutting down: send the request again, to another instance or in a moment.')
}
