import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { CodedError } from '../../../base/errors.ts'
import { isProbe } from '../observability/probes.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Refuses new requests with 503 and waits until the running ones are answered, for `ms` at most. */
    drain(ms: number): Promise<void>
  }
}

/** Time for a body under way to arrive, once the service is shutting down. */
const BODY_MS = 1_000
/** Time that answers have to reach their clients after the server has stopped listening. */
const CUT_MS = 1_000
/** Another instance, or this one after its restart, may have taken over by then. */
const RETRY_AFTER_S = 5

/** An orderly end: running requests are answered, new ones are refused, no connection keeps the server from closing. */
export const gracefulShutdown = fp((app: FastifyInstance, _options: object, done) => {
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
        for (const reply of running) if (!reply.request.raw.complete && !reply.sent) void reply.send(shuttingDown())
      },
      Math.min(BODY_MS, ms),
    )
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      onIdle = resolve
      timer = setTimeout(resolve, ms)
      if (running.size === 0) resolve()
    })
    clearTimeout(timer)
    clearTimeout(refuseBodies)
  })
  done()
})

function shuttingDown(): CodedError {
  return new CodedError('not_ready', 'The service is shutting down: send the request again, to another instance or in a moment.', {
    retryAfterS: RETRY_AFTER_S,
  })
}
