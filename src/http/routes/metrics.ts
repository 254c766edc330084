import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import type { Jobs } from '../../jobs/jobs.ts'
import { registerJobMetrics } from './job-metrics.ts'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** State of the inference processes of one role. */
export interface ProcessStatus {
  readonly role: string
  readonly queued: number
  readonly busy: number
  readonly ready: number
  readonly restarts: number
}

export interface MetricsOptions {
  /** State of the inference processes at the time of a scrape. */
  readonly processes: () => readonly ProcessStatus[]
  readonly jobs: Pick<Jobs, 'list'>
}

/** GET /metrics in Prometheus' text format: process metrics, request durations by route, inference processes. */
export const metrics = fp((app: FastifyInstance, { processes, jobs }: MetricsOptions, done) => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const durations = new Histogram({
    name: 'cepe_http_request_duration_seconds',
    help: "Time from the request's arrival to the end of its response.",
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  })
  const gauge = (name: string, help: string, value: (status: ProcessStatus) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['role'],
      registers: [registry],
      collect() {
        for (const status of processes()) this.set({ role: status.role }, value(status))
      },
    })
  gauge('cepe_inference_queue_length', 'Requests that wait for an inference process.', (status) => status.queued)
  gauge('cepe_inference_busy', 'Inference processes at work.', (status) => status.busy)
  gauge('cepe_inference_ready', 'Inference processes ready for work.', (status) => status.ready)
  gauge('cepe_inference_restarts', 'Inference processes replaced since the start.', (status) => status.restarts)

  registerJobMetrics(registry, jobs)

  app.addHook('onResponse', (request, reply, next) => {
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
