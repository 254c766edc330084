import { CodedError } from '../../../base/errors.ts'
import type { Counters, Phase } from '../../../index/ingest/plan/contract.ts'
import type { PassageIndex } from '../../../index/open.ts'
import type { SearchPolicy } from '../../../index/search/ann.ts'
import type { Embedders } from '../../inference/contract.ts'
import type { Job } from '../record/schema.ts'
import type { JobStore } from '../record/store.ts'
import type { CrawlSettings } from '../sources/fetch-pages.ts'
import type { FileBounds } from '../sources/read.ts'

/** What jobs need; `index` is that of the main table, or, for a running job, that of its own. */
export interface JobParts extends Embedders {
  readonly index: PassageIndex
  /** Opens the index of a job's table in the same folder. Default: `index`. */
  readonly indexOf?: (table: string) => PassageIndex
  /** Lists all tables whose replaced versions are to be removed. Default: the table of `index`. */
  readonly tables?: () => Promise<readonly string[]>
  readonly policy?: Partial<SearchPolicy>
  /** Passages per commit. */
  readonly shardRows?: number
  /** Limits of reading documents. */
  readonly fileBounds?: FileBounds
  /** Maximum bytes of uploaded files kept after their job. Default: none are kept. */
  readonly keepBytes?: number
  /** Settings of the crawler for web pages. */
  readonly crawl?: CrawlSettings
  /** Called with the table after every job that ran in this process. */
  readonly onIndexed?: (table: string) => void
  readonly log?: ((level: 'info' | 'warn' | 'error', message: string) => void) | undefined
  /** Folder of uploads, journals and reports. Shared by all processes of an index. */
  readonly jobsDir: string
  /** Folder from which sources may be named over HTTP. */
  readonly importDir?: string | undefined
  readonly maxUploadBytes?: number
}

/** What one running job needs. */
export interface JobRunParts extends JobParts {
  readonly store: JobStore
  /** Aborted when the service stops: the job keeps its state and resumes at the next start. */
  readonly closing: AbortSignal
}

const WINDOW_MS = 30_000

/** Rate over the last 30 seconds, from cumulative counts. */
export class Rate {
  #samples: { readonly at: number; readonly count: number }[] = []

  /** @param at milliseconds on a monotonic clock. @returns the rate per second; null until there are two samples */
  add(count: number, at: number): number | null {
    if (at - (this.#samples.at(-1)?.at ?? -Infinity) >= 250)
      this.#samples = [...this.#samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, count }]
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.at === first.at) return null
    return Math.max(0, ((last.count - first.count) * 1000) / (last.at - first.at))
  }
}

type JobStage = NonNullable<Job['stage']>

/** State of a running job, in memory and on disk. */
export class LiveJob {
  readonly #store: Pick<JobStore, 'save'>
  readonly #rate = new Rate()
  /** Name of the current stage, and its start in milliseconds on a monotonic clock. */
  #stage = { name: '', since: 0 }
  readonly #cancelling = new AbortController()
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

  /** Aborted when the job is cancelled. */
  get cancelled(): AbortSignal {
    return this.#cancelling.signal
  }

  cancel(): void {
    this.#cancelling.abort(new CodedError('conflict', 'The job was cancelled.'))
  }

  change(part: Partial<Job>): void {
    this.#job = { ...this.#job, ...part }
  }

  /** The remaining time of a stage is estimated from its share. */
  atStage(stage: JobStage, part: Partial<Job>): void {
    const now = performance.now()
    if (stage.name !== this.#stage.name) this.#stage = { name: stage.name, since: now }
    const [elapsed, { share }] = [now - this.#stage.since, stage]
    this.change({ ...part, stage, eta_s: share > 0 && elapsed > 0 ? Math.round((elapsed * (1 - share)) / share / 1000) : null })
  }

  /** Updates the counters, the rate and the estimated time. */
  indexed(state: Phase, counters: Counters): void {
    const done = counters.embedded + counters.skipped
    const rate = this.#rate.add(done, performance.now())
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
