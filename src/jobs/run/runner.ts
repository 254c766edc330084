import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../base/errors.ts'
import { describedError } from '../../../base/failures.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import { allModels, isBuildOf, type Models, type TableLocation } from '../../../index/contract.ts'
import { removeStale, replacedTables } from '../../../index/ingest/remove-stale.ts'
import { storeOf } from '../../../index/store/store-of.ts'
import { tryJobLock } from '../../../index/writers/locks.ts'
import { KeptFiles, keptFolder } from '../kept/kept-files.ts'
import { LiveJob, type JobParts } from './live-job.ts'
import { runLive } from './work.ts'
import { isSettled, moved, type Job } from '../record/schema.ts'
import { JobStore } from '../record/store.ts'

interface RemoveReplacedOptions extends TableLocation {
  readonly jobsDir: string
  /** Models of this process: a table that one still answers from is kept. If undefined, nothing is removed. */
  readonly models: Models | undefined
}

/**
 * Removes replaced tables from the command line, by the same rules as jobs.
 * @returns those that were there, and those kept for now: replaced less than a minute ago, being read, serving another model, or while a
 * job runs
 */
export async function removeReplaced({ jobsDir, models, ...location }: RemoveReplacedOptions) {
  const store = new JobStore(jobsDir)
  const knownJobs = () => store.known(location.table)
  const before = await replacedTables(location, knownJobs)
  const lock = models === undefined || before.length === 0 ? undefined : await tryJobLock(location.dir)
  if (models === undefined || lock === undefined) return { before, after: before }
  try {
    await removeStale(location, knownJobs, allModels(models))
  } finally {
    await lock.release()
  }
  return { before, after: await replacedTables(location, knownJobs) }
}

const POLL_MS = 200
const RETRY_MS = 2000
/** Interval of looking for jobs abandoned by other processes. */
const SUPERVISE_MS = 2000
/** Interval of looking for replaced tables that other processes could not remove yet. */
const REMOVE_STALE_MS = 10 * 60_000

/**
 * Runs jobs one at a time, in order of creation, across all processes of an index. A process holds a lease on every job that it has
 * queued or runs; an unfinished job without a lease was abandoned by a process that died.
 */
export class JobQueue {
  readonly #options: JobParts
  readonly #store: JobStore
  #queue: string[] = []
  readonly #leases = new Map<string, Lock>()
  readonly #abort = new AbortController()
  #current: { readonly live: LiveJob; readonly ended: Promise<void> } | undefined
  #pumping: Promise<void> | undefined
  #supervising: NodeJS.Timeout | undefined
  #supervised: Promise<void> = Promise.resolve()
  /** Tables with replaced versions that could not be removed yet. */
  readonly #removingStale = new Set<string>()
  #removedStaleAt = -Infinity

  constructor(options: JobParts, store: JobStore) {
    this.#options = options
    this.#store = store
  }

  /** A job that runs here. `ended` resolves when it has ended or stopped and its state is on disk. */
  running(id: string) {
    return this.#current?.live.job.id === id ? this.#current : undefined
  }

  /** Aborted when the service stops. */
  get closing(): AbortSignal {
    return this.#abort.signal
  }

  /** Queues jobs abandoned by dead processes, now and periodically. */
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

  /** Queues a job. @returns false if another process holds its lease */
  async enqueue(id: string, given?: Lock): Promise<boolean> {
    if (!this.#leases.has(id)) {
      const lease = given ?? (await this.#store.lease(id))
      if (lease === undefined) return false
      this.#leases.set(id, lease)
    }
    // Ids sort by creation time.
    if (!this.#queue.includes(id)) this.#queue = [...this.#queue, id].sort()
    this.#pumping ??= this.#pump()
    return true
  }

  /** Never rejects: a lease that cannot be removed, since the folder is unavailable, must not end the queue or the service. */
  async #release(id: string): Promise<void> {
    const lease = this.#leases.get(id)
    this.#leases.delete(id)
    await lease
      ?.release()
      .catch((error: unknown) => this.#options.log?.('warn', `index job ${id}: its lease was not released: ${messageOf(error)}`))
  }

  async #pump(): Promise<void> {
    const { log = () => undefined } = this.#options
    // Dequeue before running: a job that stops may be queued again before its run has ended completely.
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
    // No await since the queue was empty: a job queued later starts a new loop.
    this.#pumping = undefined
  }

  /** Marks a job that could not start as stopped, with the error. If that cannot be saved either, the job is retried. */
  async #stop(id: string, error: unknown): Promise<void> {
    try {
      const job = await this.#store.load(id)
      if (isSettled(job.state)) return
      await this.#store.save(moved(job, 'stopped', { error: describedError(error) }))
    } catch {
      this.#queue = [...new Set([...this.#queue, id])].sort()
      await sleep(RETRY_MS, undefined, { signal: this.closing }).catch(() => undefined)
    }
  }

  /** Runs a job if it is its turn. @returns false if other jobs come first */
  async #attempt(id: string): Promise<boolean> {
    const { index, indexOf = () => index, log, onIndexed } = this.#options
    const lock = await tryJobLock(index.dir)
    if (lock === undefined) return isSettled((await this.#store.load(id)).state)
    try {
      const job = await this.#store.load(id)
      if (await this.#isBehind(job)) return false
      const signals = [this.closing, lock.lost, this.#leases.get(id)?.lost]
      const closing = AbortSignal.any(signals.filter((signal) => signal !== undefined))
      const live = new LiveJob(job, this.#store)
      const run = runLive(live, { ...this.#options, index: indexOf(job.table), store: this.#store, closing })
      this.#current = { live, ended: run.catch(() => undefined) }
      await run
      // With records stored apart from the index, no other process resumes the job: record why it stopped.
      if (lock.lost.aborted && !storeOf(index.dir).keepsFiles) await this.#stop(id, lock.lost.reason)
      // Removes tables that were replaced by this job, or too recently when it began.
      if (!this.closing.aborted)
        await this.#removeStale(job.table).catch((error: unknown) => log?.('warn', `index jobs: ${messageOf(error)}`))
      onIndexed?.(job.table)
      return true
    } finally {
      this.#current = undefined
      await lock.release()
    }
  }

  /** True if an earlier job of the same table is unfinished. Queues it here if a dead process abandoned it. */
  async #isBehind({ id, table }: Job): Promise<boolean> {
    for (const job of await this.#store.list()) {
      if (job.id >= id) return false
      if (job.table !== table || isSettled(job.state)) continue
      if (this.isOfOurModel(job)) {
        await this.enqueue(job.id)
        return true
      }
      // A job of another model cannot run here: it only counts while a live process holds its lease.
      const lease = await this.#store.lease(job.id)
      if (lease === undefined) return true
      await lease.release()
    }
    return false
  }

  /** True if this process has the job's embedding model. Other jobs are left to processes that have theirs. */
  isOfOurModel({ model }: Job): boolean {
    return allModels(this.#options.index).some((one) => isBuildOf(model, one))
  }

  /** Queues jobs abandoned by other processes, and removes replaced tables. */
  async #supervise(): Promise<void> {
    for (const job of await this.#store.list()) {
      if (!isSettled(job.state) && this.isOfOurModel(job) && !this.closing.aborted) await this.enqueue(job.id)
    }
    const isDue = performance.now() - this.#removedStaleAt > REMOVE_STALE_MS
    if ((!isDue && this.#removingStale.size === 0) || this.#pumping !== undefined) return
    const lock = await tryJobLock(this.#options.index.dir)
    if (lock === undefined) return
    try {
      const { index, tables = () => Promise.resolve([index.table]) } = this.#options
      const due = isDue ? await tables() : [...this.#removingStale]
      if (isDue) this.#removedStaleAt = performance.now()
      for (const table of due) await this.#removeStale(table)
      // Of collections that were removed while a job ran.
      if (isDue) await new KeptFiles(keptFolder(this.#store.dir)).fit(Infinity)
    } finally {
      await lock.release()
    }
  }

  /** The caller must hold the job lock. */
  async #removeStale(table: string): Promise<void> {
    const { index } = this.#options
    this.#removingStale.add(table)
    const isLeft = await removeStale({ dir: index.dir, table }, () => this.#store.known(table), allModels(index))
    if (!isLeft) this.#removingStale.delete(table)
  }
}
