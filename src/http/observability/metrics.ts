import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { FastifyInstance } from 'fastify'
import type { Observer } from '../../inference/observer.ts'
import type { CacheCounts } from '../../inference/protocol.ts'
import { type CodedError, messageOf } from '../../../base/errors.ts'
import type { Collections } from '../../../index/collections/contract.ts'
import { modelId } from '../../../models/manifest.ts'
import type { Retriever } from '../../rag/retrieve.ts'
import { allEmbedders, servingEmbedder } from './models.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import { isSettled, JOB_STATES, type Job } from '../../jobs/record/schema.ts'

/** State of the inference processes of one role. */
export interface ProcessStatus {
  readonly role: string
  readonly queued: number
  readonly busy: number
  readonly ready: number
  readonly restarts: number
  readonly rssBytes?: number
  readonly cache?: CacheCounts | undefined
}

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Metrics of questions: stages (including the time in the queue), tokens. */
function workMetrics(registry: Registry): Observer {
  const stages = new Histogram({
    name: 'cepe_stage_duration_seconds',
    help: 'Time of the stages of questions: embed, search, parse (of documents), queue (waiting for a reader), plan, encode, generate; read for scores.',
    labelNames: ['stage'],
    buckets: SECONDS,
    registers: [registry],
  })
  const tokens = new Counter({
    name: 'cepe_tokens_total',
    help: "Tokens of prompts, of the encoder's contexts (cached ones too), and of answers.",
    labelNames: ['kind'],
    registers: [registry],
  })
  return { stage: (stage, _startedAt, ms) => stages.observe({ stage }, ms / 1000), tokens: (kind, count) => tokens.inc({ kind }, count) }
}

type Values = readonly (readonly [label: string, value: number | undefined])[]

/** Registers a metric that is read at the time of a scrape: a number, or one for each value of its label. */
function sampled(
  registry: Registry,
  name: string,
  { help, label, type = Gauge }: { readonly help: string; readonly label?: string; readonly type?: typeof Gauge | typeof Counter },
  read: () => number | Values | Promise<Values>,
): void {
  const labelNames = label === undefined ? [] : [label]
  const metric: Gauge | Counter = new type({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      const found = await read()
      metric.reset()
      if (typeof found === 'number') metric.inc(found)
      else for (const [of, value] of found) if (label !== undefined && value !== undefined) metric.inc({ [label]: of }, value)
    },
  })
}

/** Metrics of the inference processes at the time of a scrape. */
function registerProcessMetrics(registry: Registry, processes: () => readonly ProcessStatus[]): void {
  const byRole = (name: string, help: string, value: (status: ProcessStatus) => number | undefined, type?: typeof Counter): void =>
    sampled(registry, name, { help, label: 'role', ...(type && { type }) }, () => processes().map((status) => [status.role, value(status)]))
  byRole('cepe_inference_queue_length', 'Requests queued for an inference process.', (status) => status.queued)
  byRole('cepe_inference_busy', 'Busy inference processes.', (status) => status.busy)
  byRole('cepe_inference_ready', 'Ready inference processes.', (status) => status.ready)
  byRole('cepe_inference_resident_memory_bytes', 'Memory of the inference processes at their last messages.', (status) => status.rssBytes)
  byRole('cepe_state_cache_bytes', 'Cached encoder states and keys and values of prompts in memory.', (status) => status.cache?.bytes)
  byRole('cepe_inference_restarts_total', 'Inference processes replaced since the start.', (status) => status.restarts, Counter)
  const help = 'Encoder states of passages and beginnings of prompts looked up; counts restart when a process is replaced.'
  sampled(registry, 'cepe_state_cache_lookups_total', { help, label: 'outcome', type: Counter }, () =>
    processes().flatMap(({ cache }) => [['hit', cache?.hits] as const, ['miss', cache?.misses] as const]),
  )
}

/** Metrics of keys and the default collection at a scrape, and the number of open ones. Collections are no label: there may be many. */
function registerStateMetrics(registry: Registry, { keys, answering: { retriever }, collections, newerTable }: MetricsOptions): void {
  const serves = 'By loaded retriever: 1 for the one that questions are embedded with, that of the table in service.'
  sampled(registry, 'cepe_retriever_serves', { help: serves, label: 'model' }, async () => {
    const serving = await servingEmbedder(retriever)
    return allEmbedders(retriever).map((embedder) => [modelId(embedder.manifest), embedder === serving ? 1 : 0])
  })
  const open = 'Collections that are held open, the default one among them.'
  sampled(registry, 'cepe_collections_open', { help: open }, () => collections.opened)
  const behind = '1 where the table that is searched was replaced by one that this process cannot search: GET /v1/info says why.'
  sampled(registry, 'cepe_index_behind', { help: behind }, () => (newerTable() === undefined ? 0 : 1))
  const unreadable =
    'Key files that cannot be read, 1 where their folder cannot: what was read of them last counts, and a revocation in them does not.'
  sampled(registry, 'cepe_keys_unreadable', { help: unreadable }, () => keys.unreadable)
}

const PASSAGES = 'Passages of jobs that have not ended: to be indexed, embedded, known already, durably in the table.'

/**
 * Index jobs in Prometheus format: number per state, and progress of unfinished ones. If unreadable, they are missing from the scrape.
 * @param onTrouble called once with the reason, until they can be read again
 */
function registerJobMetrics(registry: Registry, jobs: Pick<Jobs, 'list'>, onTrouble: (message: string) => void): void {
  let troubled = false
  const read = async (): Promise<readonly Job[] | undefined> => {
    try {
      const all = await jobs.list()
      troubled = false
      return all
    } catch (error) {
      if (!troubled) onTrouble(`Metrics of index jobs are missing: ${messageOf(error)}`)
      troubled = true
      return undefined
    }
  }
  // All metrics of a scrape come from one reading.
  let reading: ReturnType<typeof read> | undefined
  const ofJobs = (name: string, help: string, label: string, values: (all: readonly Job[]) => Values): void =>
    sampled(registry, name, { help, label }, async () => {
      reading ??= read().finally(() => (reading = undefined))
      const all = await reading
      return all === undefined ? [] : values(all)
    })
  const counted = (all: readonly Job[], steps: readonly (keyof Job['counters'])[]): Values => {
    const running = all.filter((job) => !isSettled(job.state))
    return steps.map((step) => [step, running.reduce((sum, { counters }) => sum + counters[step], 0)])
  }
  ofJobs('cepe_index_jobs', 'Index jobs by state; stopped ones wait for a resume.', 'state', (all) =>
    JOB_STATES.map((state) => [state, all.filter((job) => job.state === state).length]),
  )
  ofJobs('cepe_index_job_passages', PASSAGES, 'step', (all) => counted(all, ['accepted', 'embedded', 'skipped', 'committed']))
  ofJobs('cepe_index_job_lines', 'Lines of the corpora of jobs that have not ended.', 'outcome', (all) =>
    counted(all, ['read', 'rejected']),
  )
}

interface MetricsOptions {
  /** State of the inference processes at the time of a scrape. */
  readonly processes: () => readonly ProcessStatus[]
  readonly jobs: Pick<Jobs, 'list'>
  readonly keys: Pick<Keys, 'unreadable'>
  readonly answering: { readonly retriever: Retriever }
  readonly collections: Pick<Collections, 'opened'>
  /** Why the newest table is not searched here. */
  readonly newerTable: () => CodedError | undefined
}

/** GET /metrics in Prometheus' text format: this process, requests, errors, stages, tokens, inference processes, jobs. */
export function metrics(app: FastifyInstance, options: MetricsOptions): void {
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
  registerProcessMetrics(registry, options.processes)
  registerJobMetrics(registry, options.jobs, (message) => app.log.warn(message))
  registerStateMetrics(registry, options)

  app.addHook('onRequest', (request, _reply, next) => {
    request.observers.push(work)
    next()
  })
  app.addHook('onResponse', (request, reply, next) => {
    if (request.failedWith !== null) errors.inc({ code: request.failedWith })
    const labels = { method: request.method, route: request.routeOptions.url ?? 'unknown', status: reply.statusCode }
    durations.observe(labels, reply.elapsedTime / 1000)
    next()
  })
  app.get('/metrics', { schema: { hide: true }, logLevel: 'warn' }, async (_request, reply) => {
    void reply.type(registry.contentType)
    return registry.metrics()
  })
}
