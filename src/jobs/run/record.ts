import { messageOf, type ErrorCode } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import type { Counters, Phase } from '../../../index/ingest/plan/contract.ts'
import type { Embedders } from '../../inference/contract.ts'
import type { JobsOptions } from '../contract.ts'
import type { Job } from '../schema.ts'
import type { JobStore } from '../store.ts'
import type { Embed, EmbeddingModel } from '../../../index/contract.ts'
import type { PassageIndex } from '../../../index/open.ts'

/** Options of running one job. */
export interface JobRunOptions extends Omit<JobsOptions, keyof Embedders | 'indexOf' | 'tables' | 'jobsDir'> {
  /** The index of the job's table. */
  readonly index: PassageIndex
  readonly embedOf: (model: EmbeddingModel) => Embed
  readonly store: JobStore
  /** Aborted when the service stops: the job keeps its state and resumes at the next start. */
  readonly closing: AbortSignal
}

const WINDOW_MS = 30_000

/** Rate over the last 30 seconds, from cumulative counts. */
export class Rate {
  #samples: { readonly at: number; readonly count: number }[] = []

  /** @param at milliseconds on a monotonic clock */
  add(count: number, at: number): void {
    const last = this.#samples.at(-1)
    if (last !== undefined && at - last.at < 250) return
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, count }]
  }

  /** Rate per second; null until there are two samples. */
  perSecond(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.at === first.at) return null
    return Math.max(0, ((last.count - first.count) * 1000) / (last.at - first.at))
  }
}

type JobStage = NonNullable<Job['stage']>

/** Estimates the remaining time of a stage from its progress. */
class StageEta {
  #name: string | undefined
  #since = 0

  /** @param now milliseconds on a monotonic clock. @returns whole seconds; null without progress */
  left({ name, share }: JobStage, now: number): number | null {
    if (name !== this.#name) {
      this.#name = name
      this.#since = now
    }
    const elapsed = now - this.#since
    return share > 0 && elapsed > 0 ? Math.round((elapsed * (1 - share)) / share / 1000) : null
  }
}

/** State of a running job, in memory and on disk. */
export class JobRecord {
  readonly #store: Pick<JobStore, 'save'>
  readonly #rate = new Rate()
  readonly #stageEta = new StageEta()
  #job: Job
  #saved: Promise<void> = Promise.resolve()
  /** Final state, once its write has begun. */
  #final: Job | undefined

  constructor(job: Job, store: Pick<JobStore, 'save'>) {
    this.#job = job
    this.#store = store
  }

  get job(): Job {
    return this.#job
  }

  change(part: Partial<Job>): void {
    this.#job = { ...this.#job, ...part }
  }

  atStage(stage: JobStage, part: Partial<Job>): void {
    this.change({ ...part, stage, eta_s: this.#stageEta.left(stage, performance.now()) })
  }

  /** Updates the counters, the rate and the estimated time. */
  indexed(state: Phase, counters: Counters): void {
    const done = counters.embedded + counters.skipped
    this.#rate.add(done, performance.now())
    const rate = this.#rate.perSecond()
    const eta_s = rate === null || rate === 0 ? null : Math.round((counters.accepted - done) / rate)
    this.change({ state, counters, rate: rate === null ? null : Math.round(rate * 10) / 10, eta_s, stage: null })
  }

  warn(message: string): void {
    this.change({ warnings: [...this.#job.warnings, message] })
  }

  /** Saves in order: a later state is never overwritten by an earlier one. */
  save(): Promise<void> {
    const next = this.#saved.catch(() => undefined).then(() => this.#store.save(this.#final ?? this.#job))
    this.#saved = next
    return next
  }

  /** Saves the final state; later saves repeat it. It becomes visible by {@link change}. */
  saveEnd(final: Job): Promise<void> {
    this.#final = final
    return this.save()
  }

  /** Resolves when no save is pending. */
  async saved(): Promise<void> {
    await this.#saved.catch(() => undefined)
  }
}

/** Converts an error to the `error` field of a job. */
export function toJobError(error: unknown): { code: ErrorCode; message: string } {
  const { code = 'internal' as const, message = messageOf(error) } = failureOf(error) ?? {}
  return { code, message }
}
