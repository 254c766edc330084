import pLimit from 'p-limit'
import { CodedError } from '../../../base/errors.ts'
import type { PassageIndex } from '../../../index/open.ts'
import type { SearchPolicy } from '../../../index/search/update-indexes.ts'
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
  readonly fileBounds?: FileBounds
  /** Maximum bytes of uploaded files kept after their job. Default: none are kept. */
  readonly keepBytes?: number
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
export type JobRunParts = JobParts &
  Required<Pick<JobParts, 'fileBounds' | 'crawl' | 'keepBytes'>> & {
    readonly store: JobStore
    /** Aborted when the service stops: the job keeps its state and resumes at the next start. */
    readonly closing: AbortSignal
  }

const RATE_MS = 30_000
const SAMPLE_MS = 250

/** State of a running job, in memory and on disk. Times are milliseconds on a monotonic clock. */
export class LiveJob {
  readonly #store: Pick<JobStore, 'save'>
  readonly #cancelling = new AbortController()
  readonly cancelled = this.#cancelling.signal
  /** Saves one after the other: a later state is never overwritten by an earlier one. */
  readonly #saving = pLimit(1)
  /** The current stage, and when it began. */
  #stage = { name: '', since: 0 }
  /** Passages done, over the last half minute. */
  #samples: { readonly at: number; readonly done: number }[] = []
  #job: Job
  /** Final state, once its write has begun. */
  #final: Job | undefined

  constructor(job: Job, store: Pick<JobStore, 'save'>) {
    this.#job = job
    this.#store = store
  }

  get job(): Job {
    return this.#job
  }

  cancel(): void {
    this.#cancelling.abort(new CodedError('conflict', 'The job was cancelled.'))
  }

  change(part: Partial<Job>): void {
    this.#job = { ...this.#job, ...part }
  }

  warn(message: string): void {
    this.change({ warnings: [...this.#job.warnings, message] })
  }

  /** Changes the job, and estimates the remaining time: by the share of its stage, or by the passages done in the last half minute. */
  report(part: Partial<Job>, at = performance.now()): void {
    this.change({ stage: null, ...part, ...(part.stage ? this.#ofStage(part.stage, at) : this.#ofPassages(part.counters, at)) })
  }

  #ofStage({ name, share }: NonNullable<Job['stage']>, at: number): Pick<Job, 'rate' | 'eta_s'> {
    if (name !== this.#stage.name) this.#stage = { name, since: at }
    const elapsed = at - this.#stage.since
    return { rate: null, eta_s: share > 0 && elapsed > 0 ? Math.round((elapsed * (1 - share)) / share / 1000) : null }
  }

  #ofPassages({ accepted, embedded, skipped } = this.#job.counters, at: number): Pick<Job, 'rate' | 'eta_s'> {
    const done = embedded + skipped
    const last = this.#samples.at(-1)
    if (last === undefined || at - last.at >= SAMPLE_MS)
      this.#samples = [...this.#samples.filter((sample) => at - sample.at <= RATE_MS), { at, done }]
    const [first = { at, done }] = this.#samples
    const latest = this.#samples.at(-1) ?? first
    if (latest.at === first.at) return { rate: null, eta_s: null }
    const rate = Math.max(0, ((latest.done - first.done) * 1000) / (latest.at - first.at))
    return { rate: Math.round(rate * 10) / 10, eta_s: rate === 0 ? null : Math.round((accepted - done) / rate) }
  }

  /** Saves the state. @param final the state from now on, which becomes visible by {@link change} */
  save(final = this.#final): Promise<void> {
    this.#final = final
    return this.#saving(() => this.#store.save(this.#final ?? this.#job))
  }

  /** Resolves when no save is pending. */
  saved(): Promise<void> {
    return this.#saving(() => undefined)
  }
}
