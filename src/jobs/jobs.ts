import { createReadStream } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Value } from 'typebox/value'
import { CodedError, messageOf } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { allModels } from '../../index/contract.ts'
import { jobFiles } from '../../index/ingest/plan/job-files.ts'
import { watchChanges } from '../../index/writers/change-log.ts'
import type { Lock } from '../../base/locks/lock.ts'
import { planCorpus } from '../../index/ingest/plan/plan.ts'
import { replacedTables, type ReplacedTable } from '../../index/ingest/remove-stale.ts'
import { checkReembed } from '../../index/ingest/reembed.ts'
import { checkShardDir } from '../../index/ingest/shard-dir/check.ts'
import { checkShardDirModel, openShardDir } from '../../index/ingest/shard-dir/shard-dir.ts'
import { readPassages } from '../../index/read/read.ts'
import { importPath } from './import-folder.ts'
import { isDocument } from './folder/list.ts'
import { checkDeleteMissing } from './folder/missing.ts'
import { limitBytes } from './limit-bytes.ts'
import { addFiles } from './upload/add-files.ts'
import { isArchive } from './upload/archive-name.ts'
import type { UploadedFile } from './upload/contract.ts'
import { checkShape, corpusReadOptions, ReadingNotes } from './reading.ts'
import { JobQueue, type QueueOptions } from './queue.ts'
import { cancelStopped, toJobError } from './run.ts'
import { isSettled, JobOptionsSchema, recordVersion, rejectedShare, type Job, type JobOptions } from './schema.ts'
import { JobStore } from './store.ts'

export interface JobsOptions extends QueueOptions {
  /** Folder of the jobs: uploads, journals, reports. Shared by all processes of one index. */
  readonly jobsDir: string
  /** Folder whose files may be named as sources over HTTP. */
  readonly importDir?: string | undefined
  readonly maxUploadBytes?: number
}

export interface Upload {
  readonly bytes: AsyncIterable<Buffer>
  /** File name, where the client gave one. */
  readonly name?: string | undefined
  readonly options: JobOptions
}

export interface FilesUpload {
  readonly files: AsyncIterable<UploadedFile> | Iterable<UploadedFile>
  readonly options: JobOptions
}

/** Bulk indexing: jobs in a queue on the disk, one running at a time over all processes of an index. */
export interface Jobs {
  /** Queues a file by its path. For the command line: over HTTP only `addImport`. @throws options_invalid */
  addFile(path: string, options: JobOptions): Promise<Job>
  /** Queues the documents of a folder: all of them, or those that are named. For the command line. @throws options_invalid */
  addFolder(path: string, options: JobOptions, only?: readonly string[]): Promise<Job>
  /**
   * Queues a table, a document, an archive or a folder of them that lies in the import folder. Sources of documents are their paths there, so
   * that the files can be found again.
   * @throws as `importPath`
   */
  addImport(name: string, options: JobOptions): Promise<Job>
  /**
   * Queues the commit of a place: a corpus that was planned, with vectors that others have made. One of it that is not at its
   * end goes on. For the command line.
   * @throws index_invalid naming shards that are missing or foreign, or the model that differs; conflict where one that is not at its end was ordered otherwise.
   */
  addShardDir(folder: string, options: Pick<JobOptions, 'replace'>): Promise<Job>
  /**
   * Queues the table's own passages, to be embedded with the model of new tables into a table that replaces it. One that is not at its end goes on.
   * @throws conflict where its vectors are of that model already; index_missing, index_invalid
   */
  addReembed(): Promise<Job>
  /**
   * Reads an upload to its end, checks and plans it, and queues it. A cut-off or refused upload leaves nothing behind,
   * except that one with too many bad lines stays as a failed job, for its report.
   */
  addUpload(upload: Upload): Promise<Job>
  /**
   * Keeps the files of an upload, those in archives among them, and queues them; one table alone is planned as it comes in, as `addUpload`
   * does. A cut-off or refused upload leaves nothing behind.
   * @throws payload_too_large, corpus_invalid for a damaged archive, invalid_request without a file
   */
  addFiles(upload: FilesUpload): Promise<Job>
  /** All jobs, oldest first. */
  list(): Promise<Job[]>
  /** @throws not_found */
  get(id: string): Promise<Job>
  /** Whether a job is not at its end and nobody is at work at it, or will be: the process that had it has ended. */
  isAbandoned(id: string): Promise<boolean>
  /** Ends a job, or asks the process that runs it for its end; what it committed to a live table stays. @throws conflict for one that has ended. */
  cancel(id: string): Promise<Job>
  /** Queues a stopped or interrupted job again. @throws conflict for one that has ended. */
  resume(id: string): Promise<Job>
  /** Tables that were replaced and are not removed yet. */
  replacedTables(): Promise<readonly ReplacedTable[]>
  /** Path of the file of all rejected lines (JSON lines); absent if none was rejected. */
  reportPath(id: string): Promise<string>
  /** Follows a job to its end, whichever process runs it. */
  wait(id: string, onProgress?: (job: Job) => void, signal?: AbortSignal): Promise<Job>
  /** Takes up the jobs that an earlier process left unfinished. */
  start(): Promise<void>
  /** Stops after the running batch; unfinished jobs resume at the next start. */
  close(): Promise<void>
}

const POLL_MS = 200
const DEFAULT_UPLOAD_BYTES = 64 * 2 ** 30

/** The jobs of an index. Nothing runs before `start`, or before a job is ordered. */
export function createJobs(options: JobsOptions): Jobs {
  return new IndexJobs(options)
}

/** True for a job that goes on, or can be made to. */
function isUnfinished({ state }: Pick<Job, 'state'>): boolean {
  return state === 'stopped' || !isSettled(state)
}

class IndexJobs implements Jobs {
  readonly #options: JobsOptions
  readonly #store: JobStore
  readonly #queue: JobQueue
  constructor(options: JobsOptions) {
    this.#options = options
    this.#store = new JobStore(options.jobsDir)
    this.#queue = new JobQueue(options, this.#store)
  }

  async addFile(path: string, options: JobOptions): Promise<Job> {
    const job = this.#newJob(this.#store.newId(), { name: basename(path), path }, options)
    await this.#order(job)
    return job
  }

  async addFolder(path: string, options: JobOptions, only?: readonly string[]): Promise<Job> {
    const [first] = only ?? []
    const name = only?.length === 1 && first !== undefined ? first : basename(path)
    const job = this.#newJob(this.#store.newId(), { name, path, files: { ...(only && { only: [...only] }) } }, options)
    await this.#order(job)
    return job
  }

  async addImport(name: string, options: JobOptions): Promise<Job> {
    const { path, within, isFolder } = await importPath(this.#options.importDir, name)
    const labelled = (folder: string): JobOptions => (folder === '' || folder === '.' ? options : { label: folder, ...options })
    if (isFolder) {
      const source = { name: within || basename(path), path, files: { tables: true as const } }
      const job = this.#newJob(this.#store.newId(), source, labelled(within))
      await this.#order(job)
      return job
    }
    if (isArchive(path)) return this.addFiles({ files: [{ name: basename(path), bytes: createReadStream(path) }], options })
    if (isDocument(path)) return this.addFolder(dirname(path), labelled(dirname(within)), [basename(path)])
    return this.addFile(path, options)
  }

  async addShardDir(folder: string, options: Pick<JobOptions, 'replace'>): Promise<Job> {
    const shardDir = await openShardDir(folder)
    const model = allModels(this.#options.index).find(({ id }) => id === shardDir.model) ?? this.#options.index.model
    checkShardDirModel(shardDir, model)
    const open = (await this.#store.list()).find(
      ({ source, table, state }) =>
        source.place === true && source.path === folder && table === this.#options.index.table && isUnfinished({ state }),
    )
    if (open !== undefined && (open.options.replace ?? false) !== (options.replace ?? false))
      throw new CodedError(
        'conflict',
        `The job ${open.id} commits ${folder} already, ordered ${open.options.replace === true ? 'with' : 'without'} --replace: resume or cancel it.`,
        {
          field: '--replace',
        },
      )
    if (open !== undefined) return this.resume(open.id)
    await checkShardDir(shardDir)
    const job = this.#newJob(this.#store.newId(), { name: shardDir.name, path: folder, place: true }, options, model.id)
    await this.#order(job)
    return job
  }

  async addReembed(): Promise<Job> {
    const { dir, table, model } = this.#options.index
    const open = (await this.#store.list()).find(
      (job) => job.source.reembed === true && job.table === table && job.model === model.id && isUnfinished(job),
    )
    if (open !== undefined) return this.resume(open.id)
    await checkReembed({ dir, table }, model)
    const job = this.#newJob(this.#store.newId(), { name: table, path: null, reembed: true }, { replace: true })
    await this.#order(job)
    return job
  }

  async addUpload({ bytes, name, options }: Upload): Promise<Job> {
    const { limits, maxUploadBytes = DEFAULT_UPLOAD_BYTES, shardRows } = this.#options
    const id = this.#store.newId()
    const folder = this.#store.folder(id)
    let job = this.#newJob(id, { name: name ?? 'upload', path: null }, options)
    const lease = await this.#store.lease(id)
    const notes = new ReadingNotes()
    try {
      const items = readPassages(limitBytes(bytes, maxUploadBytes), corpusReadOptions(options, name, limits))
      const onProgress = (counts: { read: number; rejected: number }): void => {
        job = { ...job, counters: { ...job.counters, ...counts } }
      }
      const plan = await planCorpus(notes.of(items), {
        folder,
        maxRejectedShare: rejectedShare(options),
        signal: this.#queue.closing,
        onProgress,
        ...(shardRows && { shardRows }),
      })
      job = {
        ...job,
        counters: { ...job.counters, read: plan.read, rejected: plan.rejected, accepted: plan.accepted },
        recent_rejects: notes.rejects,
        warnings: notes.warnings,
      }
      await this.#order(job, lease)
      return job
    } catch (error) {
      if (toJobError(error).code === 'corpus_invalid' && job.counters.rejected > 0) {
        await this.#store.dropShards(id)
        await this.#store.save({
          ...job,
          state: 'failed',
          recent_rejects: notes.rejects,
          error: toJobError(error),
          finished_at: new Date().toISOString(),
        })
        await lease?.release()
        throw new CodedError('corpus_invalid', `${messageOf(error)} The report: GET /v1/admin/index-jobs/${id}/report.`, {
          field: 'body',
          cause: error,
        })
      }
      await this.#store.remove(id)
      await lease?.release()
      throw isDiskFull(error)
        ? new CodedError('disk_full', `The disk of the jobs folder is full: free space and send the corpus again.`, { cause: error })
        : error
    }
  }

  addFiles({ files, options }: FilesUpload): Promise<Job> {
    return addFiles(files, {
      store: this.#store,
      maxBytes: this.#options.maxUploadBytes ?? DEFAULT_UPLOAD_BYTES,
      newJob: (id, name) => this.#newJob(id, { name, path: null, files: { uploaded: true } }, options),
      order: (job, lease) => this.#order(job, lease),
    })
  }

  async list(): Promise<Job[]> {
    return (await this.#store.list()).map((job) => this.#fresh(job))
  }

  async get(id: string): Promise<Job> {
    return this.#fresh(await this.#store.load(id))
  }

  replacedTables(): Promise<readonly ReplacedTable[]> {
    const { dir, table } = this.#options.index
    return replacedTables(dir, table, () => this.#store.known(table))
  }

  async isAbandoned(id: string): Promise<boolean> {
    return !isSettled((await this.get(id)).state) && !(await this.#store.isLeased(id))
  }

  async cancel(id: string): Promise<Job> {
    const job = await this.get(id)
    if (['done', 'failed', 'cancelled'].includes(job.state))
      throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    // On a full disk the note cannot be left; what this process runs, or none, is cancelled without it.
    await this.#store.requestCancel(id).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error
    })
    if (this.#queue.current?.id === id) await this.#queue.current.cancel()
    const now = await this.get(id)
    if (now.state === 'queued' || now.state === 'stopped') {
      await cancelStopped(now, { index: this.#options.index, store: this.#store })
    } else await this.#cancelAbandoned(id)
    return this.get(id)
  }

  /** A job of a dead process is ended here; one that is at work elsewhere, or waits here, is ended by the note. */
  async #cancelAbandoned(id: string): Promise<void> {
    const lease = await this.#store.lease(id)
    if (lease === undefined) return
    try {
      const job = await this.#store.load(id)
      if (!isSettled(job.state)) await cancelStopped(job, { index: this.#options.index, store: this.#store })
    } finally {
      await lease.release()
    }
  }

  async resume(id: string): Promise<Job> {
    const job = await this.get(id)
    // What a run writes at its end must not come after this.
    if (this.#queue.current?.id === id && isSettled(job.state)) await this.#queue.current.ended
    if (job.state === 'stopped') await this.#store.save({ ...job, state: 'queued', error: null, finished_at: null })
    else if (isSettled(job.state)) throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    await this.#queue.enqueue(id)
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
    await this.#store.removeOrphans()
    for (const job of await this.#store.list()) {
      if (job.state === 'stopped' && this.#queue.isOfOurModel(job)) await this.resume(job.id)
    }
    await this.#queue.start()
  }

  async close(): Promise<void> {
    await this.#queue.close()
  }

  /** @throws options_invalid for options that its record could not be read with again */
  #newJob(id: string, source: Job['source'], options: JobOptions, model = this.#options.index.model.id): Job {
    const [wrong] = Value.Errors(JobOptionsSchema, options)
    if (wrong !== undefined) {
      const field = wrong.instancePath.slice(1)
      throw new CodedError('options_invalid', `${field} ${wrong.message}.`, { field })
    }
    checkDeleteMissing(source, options)
    checkShape(options)
    return {
      version: recordVersion(source),
      id,
      table: this.#options.index.table,
      model,
      state: 'queued',
      source,
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
    return this.#queue.current?.id === job.id ? this.#queue.current.job : job
  }

  async #order(job: Job, lease?: Lock): Promise<void> {
    await this.#store.save(job)
    await watchChanges(this.#options.index.dir, job.table, job.id)
    await this.#queue.enqueue(job.id, lease)
  }
}
