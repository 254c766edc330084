import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { jobFiles } from '../../index/ingest/plan/job-files.ts'
import { replacedTables, type ReplacedTable } from '../../index/ingest/remove-stale.ts'
import type { Jobs, JobsOptions } from './contract.ts'
import { IndexOrders } from './order/orders.ts'
import { cancelStopped } from './run/run.ts'
import { isSettled, type Job } from './schema.ts'

const POLL_MS = 200

/** Creates the jobs of an index. Nothing runs before `start`, or before a job is added. */
export function createJobs(options: JobsOptions): Jobs {
  return new IndexJobs(options)
}

class IndexJobs extends IndexOrders implements Jobs {
  async list(): Promise<Job[]> {
    return (await this.store.list()).map((job) => this.#fresh(job))
  }

  async get(id: string): Promise<Job> {
    return this.#fresh(await this.store.load(id))
  }

  replacedTables(): Promise<readonly ReplacedTable[]> {
    const { dir, table } = this.options.index
    return replacedTables(dir, table, () => this.store.known(table))
  }

  async isAbandoned(id: string): Promise<boolean> {
    return !isSettled((await this.get(id)).state) && !(await this.store.isLeased(id))
  }

  async cancel(id: string): Promise<Job> {
    const job = await this.get(id)
    if (['done', 'failed', 'cancelled'].includes(job.state))
      throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    // A full disk prevents the cancel request from being written. Jobs of this process, and abandoned ones, are cancelled without it.
    await this.store.requestCancel(id).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error
    })
    if (this.queue.current?.id === id) await this.queue.current.cancel()
    const now = await this.get(id)
    if (now.state === 'queued' || now.state === 'stopped') {
      await cancelStopped(now, { index: this.options.index, store: this.store })
    } else await this.#cancelAbandoned(id)
    return this.get(id)
  }

  /** Cancels the job of a dead process. A job that another process runs, or that waits here, is ended by the cancel request. */
  async #cancelAbandoned(id: string): Promise<void> {
    const lease = await this.store.lease(id)
    if (lease === undefined) return
    try {
      const job = await this.store.load(id)
      if (!isSettled(job.state)) await cancelStopped(job, { index: this.options.index, store: this.store })
    } finally {
      await lease.release()
    }
  }

  async resume(id: string): Promise<Job> {
    const job = await this.get(id)
    // The final write of a run must not overwrite the state saved below.
    if (this.queue.current?.id === id && isSettled(job.state)) await this.queue.current.ended
    if (job.state === 'stopped') await this.store.save({ ...job, state: 'queued', error: null, finished_at: null })
    else if (isSettled(job.state)) throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    await this.queue.enqueue(id)
    return this.get(id)
  }

  async reportPath(id: string): Promise<string> {
    await this.store.load(id)
    return jobFiles(this.store.folder(id)).rejects
  }

  async wait(id: string, onProgress: (job: Job) => void = () => undefined, signal?: AbortSignal): Promise<Job> {
    for (;;) {
      const job = await this.get(id)
      onProgress(job)
      if (isSettled(job.state)) return job
      await sleep(POLL_MS, undefined, signal ? { signal } : {})
    }
  }

  async start(): Promise<void> {
    await this.store.removeOrphans()
    for (const job of await this.store.list()) {
      if (job.state === 'stopped' && this.queue.isOfOurModel(job)) await this.resume(job.id)
    }
    await this.queue.start()
  }

  async close(): Promise<void> {
    await this.queue.close()
  }

  /** Returns the newest state: that of the running job is ahead of its file. */
  #fresh(job: Job): Job {
    return this.queue.current?.id === job.id ? this.queue.current.job : job
  }
}
