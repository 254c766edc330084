import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import { tryJobLock } from '../../index/writers/job-lock.ts'
import { removeStale } from '../../index/ingest/remove-stale.ts'
import type { PassageIndex } from '../../index/open.ts'
import type { ReadLimits } from '../../index/read/contract.ts'
import type { SearchPolicy } from '../../index/search/ann.ts'
import type { Lock } from '../../base/locks/lock.ts'
import { storeOf } from '../../index/store/store-of.ts'
import { allModels } from '../../index/contract.ts'
import { embedderOf, type Embedders } from '../inference/contract.ts'
import { bulkEmbed } from './bulk-embed.ts'
import type { FileBounds } from './folder/read.ts'
import { JobRun, toJobError } from './run/run.ts'
import { isSettled, type Job } from './schema.ts'
import type { JobStore } from './store.ts'

export interface QueueOptions extends Embedders {
  readonly index: PassageIndex
  readonly limits?: Partial<ReadLimits>
  readonly policy?: Partial<SearchPolicy>
  /** Passages per commit. */
  readonly shardRows?: number
  /** Bounds of reading documents. */
  readonly fileBounds?: FileBounds
  /** Told after every job that was run here. */
  readonly onIndexed?: () => void
  readonly log?: (level: 'info' | 'warn' | 'error', message: string) => void
}

const POLL_MS = 200
const RETRY_MS = 2000
/** How often a service looks for jobs that other processes left. */
const SUPERVISE_MS = 2000
/** How often it looks for tables that other processes replaced and could not remove yet. */
const REMOVE_STALE_MS = 10 * 60_000

/**
 * Runs jobs one at a time and in the order in which they were ordered, over all processes of an index. A process holds a
 * lease of every job that it has queued or runs; a job whose lease is not held was left by a process that died.
 */
export class JobQueue {
  readonly #options: QueueOptions
  readonly #store: JobStore
  #queue: string[] = []
  readonly #leases = new Map<string, Lock>()
  readonly #abort = new AbortController()
  #current: JobRun | undefined
  #pumping: Promise<void> | undefined
  #supervising: NodeJS.Timeout | undefined
  #supervised: Promise<void> = Promise.resolve()
  /** True while a replaced table may wait to be removed. */
  #removingStale = true
  #removedStaleAt = -Infinity

  constructor(options: QueueOptions, store: JobStore) {
    this.#options = options
    this.#store = store
  }

  /** The running job. */
  get current(): JobRun | undefined {
    return this.#current
  }

  /** Aborted when the service stops. */
  get closing(): AbortSignal {
    return this.#abort.signal
  }

  /** Takes up what dead processes left, now and from now on. */
  async start(): Promise<void> {
    await this.#supervise()
    this.#supervising = setInterval(() => {
      this.#supervised = this.#supervised
        .then(() => this.#supervise())
        .catch((error: unknown) => this.#options.log?.('warn', `index jobs: ${messageOf(error)}`))
    }, SUPERVISE_MS).unref()
  }

  /** Stops after the running batch. */
  async close(): Promise<void> {
    this.#abort.abort()
    clearInterval(this.#supervising)
    await this.#supervised
    await this.#pumping
    for (const id of [...this.#leases.keys()]) await this.#release(id)
  }

  /** Queues a job unless another process has it. @returns false then. */
  async enqueue(id: string, given?: Lock): Promise<boolean> {
    if (!this.#leases.has(id)) {
      const lease = given ?? (await this.#store.lease(id))
      if (lease === undefined) return false
      this.#leases.set(id, lease)
    }
    // Jobs of an index run in the order in which they were ordered.
    if (!this.#queue.includes(id)) this.#queue = [...this.#queue, id].sort()
    this.#pumping ??= this.#pump()
    return true
  }

  /** Never rejects: a lease whose file cannot be removed, since the folder is away, must not end the queue, or the service. */
  async #release(id: string): Promise<void> {
    const lease = this.#leases.get(id)
    this.#leases.delete(id)
    await lease
      ?.release()
      .catch((error: unknown) => this.#options.log?.('warn', `index job ${id}: its lease was not released: ${messageOf(error)}`))
  }

  async #pump(): Promise<void> {
    const { log = () => undefined } = this.#options
    // Taken off the queue before it runs: a job that stops may be queued again before its run is quite over.
    for (let id = this.#queue.shift(); id !== undefined && !this.closing.aborted; id = this.#queue.shift()) {
      try {
        if (!(await this.#attempt(id))) {
          this.#queue = [...new Set([...this.#queue, id])].sort()
          await sleep(POLL_MS * (1 + Math.random() * 4), undefined, { signal: this.closing })
        }
      } catch (error) {
        if (!this.closing.aborted) {
          log('error', `index job ${id}: ${messageOf(error)}`)
          await this.#stop(id, error)
        }
      }
      if (!this.#queue.includes(id)) await this.#release(id)
    }
    // In the same turn in which the queue was found empty: a job that is queued later starts a new round.
    this.#pumping = undefined
  }

  /** What could not even be begun shows why; where that cannot be written either, the job is tried again. */
  async #stop(id: string, error: unknown): Promise<void> {
    try {
      const job = await this.#store.load(id)
      if (isSettled(job.state)) return
      await this.#store.save({ ...job, state: 'stopped', error: toJobError(error), finished_at: new Date().toISOString() })
    } catch {
      this.#queue = [...new Set([...this.#queue, id])].sort()
      await sleep(RETRY_MS, undefined, { signal: this.closing }).catch(() => undefined)
    }
  }

  /** Runs a job if it is its turn. @returns false if it has to wait for other jobs. */
  async #attempt(id: string): Promise<boolean> {
    const { index, limits, policy, shardRows, fileBounds, log = () => undefined } = this.#options
    const lock = await tryJobLock(index.dir)
    if (lock === undefined) return isSettled((await this.#store.load(id)).state)
    try {
      const job = await this.#store.load(id)
      if (await this.#isBehind(job)) return false
      const signals = [this.closing, lock.lost, this.#leases.get(id)?.lost]
      this.#current = new JobRun(job, {
        index,
        embedOf: (model) => bulkEmbed(embedderOf(this.#options, model)),
        store: this.#store,
        limits,
        policy,
        shardRows,
        fileBounds,
        log,
        closing: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
      })
      await this.#current.run()
      // Where its record is not with the index no other process resumes it: it says why it stopped.
      if (lock.lost.aborted && !storeOf(index.dir).keepsFiles) await this.#stop(id, lock.lost.reason)
      // Tables that were replaced shortly before the job began, or by it, could not go then.
      if (!this.closing.aborted) await this.#removeStale().catch((error: unknown) => log('warn', `index jobs: ${messageOf(error)}`))
      this.#options.onIndexed?.()
      return true
    } finally {
      this.#current = undefined
      await lock.release()
    }
  }

  /** True if a job of the same table that was ordered before is at work, or was left by a dead process and has now been queued here. */
  async #isBehind({ id, table }: Job): Promise<boolean> {
    for (const job of await this.#store.list()) {
      if (job.id >= id) return false
      if (job.table !== table || isSettled(job.state)) continue
      if (this.isOfOurModel(job)) {
        await this.enqueue(job.id)
        return true
      }
      // Of a dead process with another model: no process here can resume it.
      const lease = await this.#store.lease(job.id)
      if (lease === undefined) return true
      await lease.release()
    }
    return false
  }

  /** Passages of one table are embedded by one model: jobs of one that is not at hand here are left to processes that have it. */
  isOfOurModel({ model }: Job): boolean {
    return model === undefined || allModels(this.#options.index).some(({ id }) => id === model)
  }

  /** Takes up what other processes left when they died, and removes what was replaced. */
  async #supervise(): Promise<void> {
    for (const job of await this.#store.list()) {
      if (!isSettled(job.state) && this.isOfOurModel(job) && !this.closing.aborted) await this.enqueue(job.id)
    }
    const isDue = this.#removingStale || performance.now() - this.#removedStaleAt > REMOVE_STALE_MS
    if (!isDue || this.#pumping !== undefined) return
    const lock = await tryJobLock(this.#options.index.dir)
    if (lock === undefined) return
    try {
      await this.#removeStale()
    } finally {
      await lock.release()
    }
  }

  /** For the holder of the job lock. */
  async #removeStale(): Promise<void> {
    const { index } = this.#options
    this.#removedStaleAt = performance.now()
    this.#removingStale = true
    this.#removingStale = (await removeStale(index.dir, index.table, () => this.#store.known(index.table), allModels(index))).left
  }
}
