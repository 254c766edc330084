import type { Counters, Phase } from '../../../index/ingest/plan/contract.ts'
import type { Job } from '../schema.ts'
import type { JobStore } from '../store.ts'
import { Rate, StageEta } from './progress.ts'
import type { Embed, EmbeddingModel } from '../../../index/contract.ts'
import type { PassageIndex } from '../../../index/open.ts'
import type { ReadLimits } from '../../../index/read/contract.ts'
import type { SearchPolicy } from '../../../index/search/ann.ts'
import type { FileBounds } from '../folder/read.ts'
import type { CrawlSettings } from '../web/fetch-pages.ts'

export interface JobRunOptions {
  readonly index: PassageIndex
  readonly embedOf: (model: EmbeddingModel) => Embed
  readonly store: JobStore
  readonly limits: Partial<ReadLimits> | undefined
  readonly policy: Partial<SearchPolicy> | undefined
  readonly shardRows: number | undefined
  readonly fileBounds: FileBounds | undefined
  readonly crawl: CrawlSettings | undefined
  /** Maximum bytes of kept uploads. */
  readonly keepBytes: number
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
  /** Aborted when the service stops: the job keeps its state and resumes at the next start. */
  readonly closing: AbortSignal
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

  atStage(stage: NonNullable<Job['stage']>, part: Partial<Job>): void {
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
