import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchPolicy } from '../../index/search/ann.ts'
import { isDiskFull, CodedError, messageOf } from '../../base/errors.ts'
import { jobFiles } from '../../index/ingest/files.ts'
import { tryLock } from '../../index/ingest/lock.ts'
import { planCorpus } from '../../index/ingest/plan.ts'
import type { PassageIndex } from '../../index/open.ts'
import { readPassages } from '../../index/read/read.ts'
import type { ReadLimits } from '../../index/read/types.ts'
import type { Embedder } from '../inference/contract.ts'
import { bulkEmbed } from './bulk-embed.ts'
import { importPath } from './import-folder.ts'
import { limitBytes } from './limit-bytes.ts'
import { noteRejects, readOptions } from './reading.ts'
import { cancelStopped, JobRun, toJobError } from './run.ts'
import { DEFAULT_REJECTED_SHARE, isSettled, type Job, type JobOptions } from './schema.ts'
import { JobStore } from './store.ts'

export interface JobsOptions {
  readonly index: PassageIndex
  readonly embedder: Embedder
  /** Folder of the jobs: uploads, journals, reports. Shared by all processes of one index. */
  readonly jobsDir: string
  /** Folder whose files may be named as sources over HTTP. */
  readonly importDir?: string | undefined
  readonly maxUploadBytes?: number
  readonly limits?: Partial<ReadLimits>
  readonly policy?: Partial<SearchPolicy>
  /** Passages per commit. */
  readonly shardRows?: number
  readonly log?: (level: 'info' | 'warn' | 'error', message: string) => void
}

export interface Upload {
  readonly bytes: AsyncIterable<Buffer>
  /** File name, where the client gave one. */
  readonly name?: string | undefined
  readonly options: JobOptions
}

/** Bulk indexing: jobs in a queue on the disk, one running at a time over all processes of an index. */
export interface Jobs {
  /** Queues a file by its path. For the command line: over HTTP only `addImport`. */
  addFile(path: string, options: JobOptions): Promise<Job>
  /** Queues a file of the import folder. @throws as `importPath`. */
  addImport(name: string, options: JobOptions): Promise<Job>
  /**
   * Reads an upload to its end, checks and plans it, and queues it. A cut-off or refused upload leaves nothing behind,
   * except that one with too many bad lines stays as a failed job, for its report.
   */
  addUpload(upload: Upload): Promise<Job>
  /** All jobs, oldest first. */
  list(): Promise<Job[]>
  /** @throws not_found */
  get(id: string): Promise<Job>
  /** Asks for the end of a job; what it committed to a live table stays. @throws conflict for one that has ended. */
  cancel(id: string): Promise<Job>
  /** Queues a stopped or interrupted job again. @throws conflict for one that has ended. */
  resume(id: string): Promise<Job>
  /** Path of the file of all rejected lines (JSON lines); absent if none was rejected. */
  reportPath(id: string): Promise<string>
  /** Follows a job to its end, whichever process runs it. */
  wait(id: string, onProgress?: (job: Job) => void, signal?: AbortSignal): Promise<Job>
  /** Takes up the jobs that an earlier process left unfinished. */
  start(): Promise<void>
  /** Stops after the running batch; unfinished jobs go on at the next start. */
  close(): Promise<void>
}

const POLL_MS = 200
const DEFAULT_UPLOAD_BYTES = 64 * 2 ** 30

export function createJobs(options: JobsOptions): Jobs {
  return new JobQueue(options)
}

class JobQueue implements Jobs {
  readonly #options: JobsOptions
  readonly #store: JobStore
  readonly #queue: string[] = []
  readonly #closing = new AbortController()
  #current: JobRun | undefined
  #pumping: Promise<void> | undefined

  constructor(options: JobsOptions) {
    this.#options = options
    this.#store = new JobStore(options.jobsDir)
  }

  async addFile(path: string, options: JobOptions): Promise<Job> {
    const job = this.#newJob(this.#store.newId(), basename(path), path, options)
    await this.#store.save(job)
    this.#enqueue(job.id)
    return job
  }

  async addImport(name: string, options: JobOptions): Promise<Job> {
    return this.addFile(await importPath(this.#options.importDir, name), options)
  }

  async addUpload({ bytes, name, options }: Upload): Promise<Job> {
    const { limits, maxUploadBytes = DEFAULT_UPLOAD_BYTES, shardRows } = this.#options
    const id = this.#store.newId()
    const folder = this.#store.folder(id)
    await mkdir(folder, { recursive: true })
    let job = this.#newJob(id, name ?? 'upload', null, options)
    const rejects: Job['recent_rejects'] = []
    try {
      const items = readPassages(limitBytes(bytes, maxUploadBytes), readOptions(options, name, limits))
      const onProgress = (counts: { read: number; rejected: number }): void => {
        job = { ...job, counters: { ...job.counters, ...counts } }
      }
      const plan = await planCorpus(noteRejects(items, rejects), {
        folder,
        maxRejectedShare: options.max_rejected_share ?? DEFAULT_REJECTED_SHARE,
        signal: this.#closing.signal,
        onProgress,
        ...(shardRows && { shardRows }),
      })
      job = {
        ...job,
        counters: { ...job.counters, read: plan.read, rejected: plan.rejected, accepted: plan.accepted },
        recent_rejects: rejects,
      }
    } catch (error) {
      if (toJobError(error).code === 'corpus_invalid' && job.counters.rejected > 0) {
        await this.#store.dropShards(id)
        await this.#store.save({
          ...job,
          state: 'failed',
          recent_rejects: rejects,
          error: toJobError(error),
          finished_at: new Date().toISOString(),
        })
        throw new CodedError('corpus_invalid', `${messageOf(error)} The report: GET /v1/admin/index-jobs/${id}/report.`, {
          field: 'body',
          cause: error,
        })
      }
      await this.#store.remove(id)
      throw isDiskFull(error)
        ? new CodedError('disk_full', `The disk of the jobs folder is full: free space and send the corpus again.`, { cause: error })
        : error
    }
    await this.#store.save(job)
    this.#enqueue(id)
    return job
  }

  async list(): Promise<Job[]> {
    return (await this.#store.list()).map((job) => this.#fresh(job))
  }

  async get(id: string): Promise<Job> {
    return this.#fresh(await this.#store.load(id))
  }

  async cancel(id: string): Promise<Job> {
    const job = await this.get(id)
    if (['done', 'failed', 'cancelled'].includes(job.state))
      throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    // On a full disk the note cannot be left; what this process runs, or none, is cancelled without it.
    await this.#store.requestCancel(id).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error
    })
    if (this.#current?.id === id) await this.#current.cancel()
    const now = await this.get(id)
    if (now.state === 'queued' || now.state === 'stopped') {
      await cancelStopped(now, { index: this.#options.index, store: this.#store })
    } else if (!isSettled(now.state)) this.#enqueue(id)
    return this.get(id)
  }

  async resume(id: string): Promise<Job> {
    const job = await this.get(id)
    // What a run writes at its end must not come after this.
    if (this.#current?.id === id && isSettled(job.state)) await this.#current.ended
    if (job.state === 'stopped') await this.#store.save({ ...job, state: 'queued', error: null, finished_at: null })
    else if (isSettled(job.state)) throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    this.#enqueue(id)
    return this.get(id)
  }

  async reportPath(id: string): Promise<string> {
    await this.#store.load(id)
    return jobFiles(this.#store.folder(id)).rejects
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
    await this.#store.sweepOrphans()
    for (const job of await this.#store.list()) {
      if (job.state === 'stopped') await this.resume(job.id)
      else if (!isSettled(job.state)) this.#enqueue(job.id)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#pumping
  }

  #newJob(id: string, name: string, path: string | null, options: JobOptions): Job {
    return {
      id,
      table: this.#options.index.table,
      state: 'queued',
      source: { name, path },
      options,
      created_at: new Date().toISOString(),
      finished_at: null,
      counters: { read: 0, rejected: 0, accepted: 0, embedded: 0, skipped: 0, committed: 0 },
      rate: null,
      eta_s: null,
      recent_rejects: [],
      warnings: [],
      error: null,
      result: null,
    }
  }

  /** The newest state: the running job's is ahead of its file. */
  #fresh(job: Job): Job {
    return this.#current?.id === job.id ? this.#current.job : job
  }

  #enqueue(id: string): void {
    if (!this.#queue.includes(id)) this.#queue.push(id)
    this.#pumping ??= this.#pump()
  }

  async #pump(): Promise<void> {
    const { index, embedder, limits, policy, shardRows, log = () => undefined } = this.#options
    // Taken off the queue before it runs: a job that stops may be queued again before its run is quite over.
    for (let id = this.#queue.shift(); id !== undefined && !this.#closing.signal.aborted; id = this.#queue.shift()) {
      try {
        const lock = await tryLock(join(index.dir, 'writer'))
        if (lock === undefined) {
          // Another process is writing, perhaps this very job.
          if (isSettled((await this.#store.load(id)).state)) continue
          await sleep(POLL_MS * (1 + Math.random() * 4), undefined, { signal: this.#closing.signal })
          if (!this.#queue.includes(id)) this.#queue.unshift(id)
          continue
        }
        try {
          this.#current = new JobRun(await this.#store.load(id), {
            index,
            embed: bulkEmbed(embedder),
            store: this.#store,
            limits,
            policy,
            shardRows,
            log,
            closing: this.#closing.signal,
          })
          await this.#current.run()
        } finally {
          this.#current = undefined
          await lock.release()
        }
      } catch (error) {
        if (!this.#closing.signal.aborted) log('error', `index job ${id}: ${messageOf(error)}`)
      }
    }
    // In the same turn in which the queue was found empty: a job that is queued later starts a new round.
    this.#pumping = undefined
  }
}
