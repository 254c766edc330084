import type { FastifyInstance } from 'fastify'
import { invalidConfig, reasonOf } from '../../../base/errors.ts'
import type { RequestSpan } from './tracing.ts'
import { isProbe } from './observers.ts'

/**
 * OpenTelemetry traces of requests and their stages, without questions and passages.
 * @param url of the collector; empty disables tracing without loading its packages
 */
export async function traces(app: FastifyInstance, url: string, version: string): Promise<void> {
  if (url === '') return
  const { startTracing } = await import('./tracing.ts').catch((cause: unknown) => {
    const needed = "OpenTelemetry's packages, which are optional: npm ci --include=optional"
    throw invalidConfig('CEPE_TRACES_URL', `Traces (CEPE_TRACES_URL) need ${needed} (${reasonOf(cause)}).`, cause)
  })
  const tracing = startTracing({ url, version, log: (message) => app.log.warn(message) })
  const spans = new WeakMap<object, RequestSpan>()
  app.addHook('onRequest', (request, _reply, next) => {
    if (!isProbe(request)) {
      const span = tracing.begin(request)
      spans.set(request, span)
      request.observers.push(span)
    }
    next()
  })
  app.addHook('onResponse', (request, reply, next) => {
    spans.get(request)?.end(reply.statusCode, request.failedWith)
    next()
  })
  // The client disconnected: no response will be sent.
  app.addHook('onRequestAbort', (request, next) => {
    spans.get(request)?.end(0, 'client_closed')
    next()
  })
  app.addHook('onClose', () => tracing.close())
}
