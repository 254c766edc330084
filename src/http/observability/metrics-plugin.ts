import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import type { CodedError } from '../../../base/errors.ts'
import type { Collections } from '../../../index/collections/contract.ts'
import type { Jobs } from '../../jobs/contract.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Retriever } from '../../rag/retrieve.ts'
import {
  registerIndexMetrics,
  registerKeyMetrics,
  registerProcessMetrics,
  workMetrics,
  type ProcessStatus,
  registerJobMetrics,
} from './metrics.ts'
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'

export interface MetricsOptions {
  /** State of the inference processes at the time of a scrape. */
  readonly processes: () => readonly ProcessStatus[]
  readonly jobs: Pick<Jobs, 'list'>
  readonly keys: Pick<Keys, 'unreadable'>
  readonly retriever: Retriever
  readonly collections: Pick<Collections, 'opened'>
  /** Why the newest table is not searched here. */
  readonly newerTable: () => CodedError | undefined
}

/** GET /metrics in Prometheus' text format: this process, requests, errors, stages, tokens, inference processes, jobs. */
export const metrics = fp((app: FastifyInstance, { processes, jobs, keys, retriever, collections, newerTable }: MetricsOptions, done) => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const durations = new Histogram({
    name: 'cepe_http_request_duration_seconds',
    help: "Time from the request's arrival to the end of its response.",
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  })
  const errors = new Counter({
    name: 'cepe_errors_total',
    help: 'Requests that were refused or failed, by the code of the error.',
    labelNames: ['code'],
    registers: [registry],
  })
  const work = workMetrics(registry)
  registerProcessMetrics(registry, processes)
  registerJobMetrics(registry, jobs, (message) => app.log.warn(message))
  registerKeyMetrics(registry, keys)
  registerIndexMetrics(registry, { retriever, collections, newerTable })

  app.addHook('onRequest', (request, _reply, next) => {
    request.observers.push(work)
    next()
  })
  app.addHook('onResponse', (request, reply, next) => {
    if (request.failedWith !== null) errors.inc({ code: request.failedWith })
    durations.observe(
      { method: request.method, route: request.routeOptions.url ?? 'unknown', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    next()
  })
  app.get('/metrics', { schema: { hide: true }, logLevel: 'warn' }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
  done()
})
