import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Observer } from '../../inference/observer.ts'
import type { CacheCounts } from '../../inference/protocol.ts'

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
export function workMetrics(registry: Registry): Observer {
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
  return {
    stage: (stage, _startedAt, ms) => stages.observe({ stage }, ms / 1000),
    tokens: (kind, count) => tokens.inc({ kind }, count),
  }
}

/** Metrics of the inference processes at the time of a scrape. */
export function registerProcessMetrics(registry: Registry, processes: () => readonly ProcessStatus[]): void {
  const gauge = (name: string, help: string, value: (status: ProcessStatus) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['role'],
      registers: [registry],
      collect() {
        for (const status of processes()) {
          const now = value(status)
          if (now !== undefined) this.set({ role: status.role }, now)
        }
      },
    })
  gauge('cepe_inference_queue_length', 'Requests queued for an inference process.', (status) => status.queued)
  gauge('cepe_inference_busy', 'Busy inference processes.', (status) => status.busy)
  gauge('cepe_inference_ready', 'Ready inference processes.', (status) => status.ready)
  gauge('cepe_inference_resident_memory_bytes', 'Memory of the inference processes at their last messages.', (status) => status.rssBytes)
  gauge('cepe_state_cache_bytes', 'Cached encoder states in memory.', (status) => status.cache?.bytes)
  new Counter({
    name: 'cepe_inference_restarts_total',
    help: 'Inference processes replaced since the start.',
    labelNames: ['role'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { role, restarts } of processes()) this.inc({ role }, restarts)
    },
  })
  new Counter({
    name: 'cepe_state_cache_lookups_total',
    help: 'Passages whose encoder states were looked up; counts restart when a process is replaced.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { cache } of processes()) {
        if (cache === undefined) continue
        this.inc({ outcome: 'hit' }, cache.hits)
        this.inc({ outcome: 'miss' }, cache.misses)
      }
    },
  })
}
