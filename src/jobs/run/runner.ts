import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../base/errors.ts'
import { describedError } from '../../../base/failures.ts'
import { whileHeld, type Lock } from '../../../base/locks/lock.ts'
import { allModels, isBuildOf, type Models, type TableLocation } from '../../../index/contract.ts'
import { removeStale, replacedTables } from '../../../index/ingest/remove-stale.ts'
import { storeOf } from '../../../index/store/store-of.ts'
import { tryJobLock } from '../../../index/writers/locks.ts'
import { KeptFiles } from '../kept/kept-files.ts'
import { LiveJob, type JobParts } from './live-job.ts'
import { runLive } from './work.ts'
import { isSettled, moved, type Job } from '../record/schema.ts'
import { JobStore } from '../record/store.ts'
import { DEFAULT_CRAWL } from '../sources/fetch-pages.ts'
import { DEFAULT_FILE_BOUNDS } from '../sources/read.ts'

/**
 * Removes replaced tables from the command line, by the same rules as jobs.
 * @param models of this process: a table that one still answers from is kept. If undefined, nothing is removed
 * @returns those that were there, and those kept for now: replaced less than a minute ago, being read, serving another model, or while a
 * job runs
 */
export async function removeReplaced(location: TableLocation, jobsDir: string, models: Models | undefined) {
  const store = new JobStore(jobsDir)
  const knownJobs = () => store.known(location.table)
  const before = await replacedTables(location, knownJobs)
  if (models === undefined || before.length === 0) return { before, after: before }
  await whileHeld(tryJobLock(location.dir), () => removeStale(location, knownJobs, allModels(models)))
  return { before, after: await replacedTables(location, knownJobs) }
}

const POLL_MS = 200
const RETRY_MS = 2000
const SUPERVISE_MS = 2000
/** Interval of looking for replaced tables that other processes could not remove yet. */
const REMOVE_STALE_MS = 10 * 60_000

/** Limits of a process that sets none. */
const DEFAULTS = { fileBounds: DEFAULT_FILE_BOUNDS, crawl: DEFAULT_CRAWL, keepBytes: 0 }

/**
 * Runs jobs one at a time, in order of creation, across all processes of an index. A process holds a lease on every job that it has
 * queued or runs; an unfinished job without a lease was abandoned by a process that died.
 */
export class JobQueue {
  /** Ids, which sort by creation time. */
  readonly #queue = new Set<string>()
  readonly #leases = new Map<string, Lock>()
  readonly #abort = new AbortController()
  readonly closing = this.#abort.signal
  #current: { readonly live: LiveJob; readonly ended: Promise<void> } | undefined
  #pumping: Promise<void> | undefined
  #supervising: NodeJS.Timeout | undefined
  #supervised: Promise<void> = Promise.resolve()
  /** Tables with replaced versions that could not be removed yet. */
  readonly #removingStale = new Set<string>()
  #removedStaleAt = -Infinity

  constructor(
    private readonly parts: JobParts,
    private readonly store: JobStore,
  ) {}

  /** A job that runs here. `ended` resolves when it has ended or stopped and its state is on disk. */
  running(id: string) {
    return this.#current?.live.job.id === id ? this.#current : undefined
  }

  /** Resolves when a job that runs here has ended, or else when nothing is left to run here. Undefined if that is so. */
  turn(id: string): Promise<void> | undefined {
    return this.running(id)?.ended ?? this.#pumping
  }

  /** Queues jobs abandoned by dead processes, now and periodically. */
  async start(): Promise<void> {
    await this.#supervise()
    this.#supervising = setInterval(() => {
      this.#supervised = this.#supervised.then(() => this.#supervise()).catch(this.#warnOf('index jobs'))
    }, SUPERVISE_MS).unref()
  }

  /** Stops after the running batch. */
  async close(): Promise<void> {
    this.#abort.abort()
    clearInterval(this.#supervising)
    await this.#supervised
    await this.#pumping
    for (const id of this.#leases.keys()) await this.#release(id)
  }

  /** Queues a job. @returns false if another process holds its lease */
  async enqueue(id: string, given?: Lock): Promise<boolean> {
    if (!this.#leases.has(id)) {
      const lease = given ?? (await this.store.lease(id))
      if (lease === undefined) return false
      this.#leases.set(id, lease)
    }
    this.#queue.add(id)
    this.#pumping ??= this.#pump()
    return true
  }

  #warnOf(what: string): (error: unknown) => void {
    return (error) => this.parts.log?.('warn', `${what}: ${messageOf(error)}`)
  }

  /** Never rejects: a lease that cannot be removed, since the folder is unavailable, must not end the queue or the service. */
  async #release(id: string): Promise<void> {
    const lease = this.#leases.get(id)
    this.#leases.delete(id)
    await lease?.release().catch(this.#warnOf(`index job ${id}: its lease was not released`))
  }

  async #pump(): Promise<void> {
    for (let [id] = [...this.#queue].sort(); id !== undefined && !this.closing.aborted; [id] = [...this.#queue].sort()) {
      // Dequeue before running: a job that stops may be queued again before its run has ended completely.
      this.#queue.delete(id)
      const waitMs = await this.#attempt(id).catch((error: unknown) => this.#stop(id, error))
      if (waitMs !== undefined) {
        this.#queue.add(id)
        await sleep(waitMs, undefined, { signal: this.closing }).catch(() => undefined)
      }
      if (!this.#queue.has(id)) await this.#release(id)
    }
    // No await since the queue was empty: a job queued later starts a new loop.
    this.#pumping = undefined
  }

  /** Marks a job that could not start as stopped, with the error. @returns milliseconds until it is tried again if that cannot be saved */
  async #stop(id: string, error: unknown): Promise<number | undefined> {
    if (this.closing.aborted) return undefined
    this.parts.log?.('error', `index job ${id}: ${messageOf(error)}`)
    try {
      const job = await this.store.load(id)
      if (!isSettled(job.state)) await this.store.save(moved(job, 'stopped', { error: describedError(error) }))
      return undefined
    } catch {
      return RETRY_MS
    }
  }

  /** Runs a job if it is its turn. @returns milliseconds until it is tried again if other jobs come first, or its end could not be saved */
  async #attempt(id: string): Promise<number | undefined> {
    const { index, indexOf = () => index, onIndexed } = this.parts
    const waitMs = POLL_MS * (1 + Math.random() * 4)
    const lock = await tryJobLock(index.dir)
    if (lock === undefined) return isSettled((await this.store.load(id)).state) ? undefined : waitMs
    try {
      const job = await this.store.load(id)
      if (await this.#isBehind(job)) return waitMs
      const closing = AbortSignal.any([this.closing, lock.lost, this.#leases.get(id)?.lost].filter((signal) => signal !== undefined))
      const live = new LiveJob(job, this.store)
      const run = runLive(live, { ...DEFAULTS, ...this.parts, index: indexOf(job.table), store: this.store, closing })
      // Once it has ended the record is read, which may be queued again already.
      this.#current = { live, ended: run.catch(() => undefined).finally(() => (this.#current = undefined)) }
      await run
      // With records stored apart from the index, no other process resumes the job: record why it stopped.
      const isAbandoned = lock.lost.aborted && !storeOf(index.dir).keepsFiles
      const retryMs = isAbandoned ? await this.#stop(id, lock.lost.reason) : undefined
      // Removes tables that were replaced by this job, or too recently when it began.
      if (!this.closing.aborted) await this.#removeStale(job.table)
      onIndexed?.(job.table)
      return retryMs
    } finally {
      await lock.release()
    }
  }

  /** True if an earlier job of the same table is unfinished. Queues it here if a dead process abandoned it. */
  async #isBehind({ id, table }: Job): Promise<boolean> {
    for (const job of await this.store.list()) {
      if (job.id >= id) return false
      if (job.table !== table || isSettled(job.state)) continue
      if (this.isOfOurModel(job)) {
        await this.enqueue(job.id)
        return true
      }
      // A job of another model cannot run here: it only counts while a live process holds its lease.
      if (await this.store.isLeased(job.id)) return true
    }
    return false
  }

  /** True if this process has the job's embedding model. Other jobs are left to processes that have theirs. */
  isOfOurModel({ model }: Job): boolean {
    return allModels(this.parts.index).some((one) => isBuildOf(model, one))
  }

  /** Queues jobs abandoned by other processes, and removes replaced tables. */
  async #supervise(): Promise<void> {
    for (const job of await this.store.list()) {
      if (!isSettled(job.state) && this.isOfOurModel(job) && !this.closing.aborted) await this.enqueue(job.id)
    }
    const isDue = performance.now() - this.#removedStaleAt > REMOVE_STALE_MS
    if ((!isDue && this.#removingStale.size === 0) || this.#pumping !== undefined) return
    const { index, tables = () => Promise.resolve([index.table]) } = this.parts
    await whileHeld(tryJobLock(index.dir), async () => {
      const due = isDue ? await tables() : [...this.#removingStale]
      if (isDue) this.#removedStaleAt = performance.now()
      for (const table of due) await this.#removeStale(table)
      // Of collections that were removed while a job ran.
      if (isDue) await new KeptFiles(this.store.dir).fit(Infinity).catch(this.#warnOf('kept uploads'))
    })
  }

  /** Never rejects: a damaged collection must not end the service. The caller must hold the job lock. */
  async #removeStale(table: string): Promise<void> {
    const { index } = this.parts
    const removing = removeStale({ dir: index.dir, table }, () => this.store.known(table), allModels(index))
    const isLeft = await removing.catch(this.#warnOf(`replaced tables of the collection ${table} are kept`))
    if (isLeft === true) this.#removingStale.add(table)
    else this.#removingStale.delete(table)
  }
}
