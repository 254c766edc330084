import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Value } from '#typebox/value'
import { CodedError } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { fileBytes } from '../../base/files.ts'
import type { Lock } from '../../base/locks/lock.ts'
import { unknownCollection } from '../../index/collections/contract.ts'
import { allModels } from '../../index/contract.ts'
import { jobFiles } from '../../index/ingest/plan/contract.ts'
import { checkReembed } from '../../index/ingest/reembed.ts'
import { replacedTables, type ReplacedTable } from '../../index/ingest/remove-stale.ts'
import { checkShardDir } from '../../index/ingest/shard-dir/check.ts'
import { checkShardDirModel, openShardDir } from '../../index/ingest/shard-dir/shard-dir.ts'
import { checkTable, readAlias } from '../../index/versions/alias.ts'
import { watchChanges } from '../../index/writers/change-log.ts'
import { withWriterLock } from '../../index/writers/locks.ts'
import type { FilesUpload, Jobs, JobsOptions, Upload } from './contract.ts'
import { isArchive, isDocument } from './folder/list.ts'
import { checkDeleteMissing } from './folder/missing.ts'
import { importPath } from './source-file.ts'
import { JobQueue } from './queue.ts'
import { checkReading } from './reading.ts'
import { cancelStopped } from './run/run.ts'
import { isSettled, JOB_VERSION, JobOptionsSchema, type Job, type JobOptions, type WebSource } from './schema.ts'
import { JobStore } from './store.ts'
import { addFiles, addTable } from './upload/take.ts'
import { checkedAddresses } from './web/fetch-pages.ts'

const POLL_MS = 200
const DEFAULT_UPLOAD_BYTES = 64 * 2 ** 30

/** Table and model of a job. Defaults: those of the index. */
interface Target {
  readonly table?: string | undefined
  readonly model?: string
}

/** True for a job that is running, queued or resumable. */
function isUnfinished({ state }: Pick<Job, 'state'>): boolean {
  return state === 'stopped' || !isSettled(state)
}

/** Creates the jobs of an index. Nothing runs before `start`, or before a job is added. */
export function createJobs(options: JobsOptions): Jobs {
  return new IndexJobs(options)
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
    return this.#order({ name: basename(path), path }, options)
  }

  async addFolder(path: string, options: JobOptions, only?: readonly string[]): Promise<Job> {
    const [first] = only ?? []
    const name = only?.length === 1 && first !== undefined ? first : basename(path)
    return this.#order({ name, path, files: { ...(only && { only: [...only] }) } }, options)
  }

  async addImport(name: string, options: JobOptions, table?: string, only?: string): Promise<Job> {
    const { path, within, isFolder } = await importPath(this.#options.importDir, name, only)
    const labelled = (folder: string): JobOptions => (folder === '' || folder === '.' ? options : { label: folder, ...options })
    if (isFolder) {
      const source = { name: within || basename(path), path, files: { tables: true as const } }
      return this.#order(source, labelled(within), { table })
    }
    if (isArchive(path)) return this.addFiles({ files: [{ name: basename(path), bytes: fileBytes(path) }], options, table })
    const file = basename(path)
    if (isDocument(path))
      return this.#order({ name: file, path: dirname(path), files: { only: [file] } }, labelled(dirname(within)), { table })
    return this.#order({ name: file, path }, options, { table })
  }

  async addPages(web: WebSource, options: JobOptions, table?: string): Promise<Job> {
    const urls = checkedAddresses(web)
    const [first = ''] = urls
    const name = urls.length === 1 ? first : `${first} and ${urls.length - 1} more`
    return this.#order({ name, path: null, files: { web: { ...web, urls } } }, options, { table })
  }

  async addShardDir(folder: string, options: Pick<JobOptions, 'replace'>): Promise<Job> {
    const shardDir = await openShardDir(folder)
    const model = allModels(this.#options.index).find(({ id }) => id === shardDir.model) ?? this.#options.index.model
    checkShardDirModel(shardDir, model)
    const open = (await this.#store.list()).find(
      ({ source, table, state }) =>
        source.place === true && source.path === folder && table === this.#options.index.table && isUnfinished({ state }),
    )
    if (open !== undefined && (open.options.replace ?? false) !== (options.replace ?? false)) {
      const message = `The job ${open.id} commits ${folder} already, ordered ${open.options.replace === true ? 'with' : 'without'} --replace: resume or cancel it.`
      throw new CodedError('conflict', message, { field: '--replace' })
    }
    if (open !== undefined) return this.resume(open.id)
    await checkShardDir(shardDir)
    return this.#order({ name: shardDir.name, path: folder, place: true }, options, { model: model.id })
  }

  async addReembed(table = this.#options.index.table): Promise<Job> {
    const { dir, model } = this.#options.index
    const open = (await this.#store.list()).find(
      (job) => job.source.reembed === true && job.table === table && job.model === model.id && isUnfinished(job),
    )
    if (open !== undefined) return this.resume(open.id)
    await checkReembed({ dir, table }, model)
    return this.#order({ name: table, path: null, reembed: true }, { replace: true }, { table })
  }

  async addUpload({ bytes, name, options, table }: Upload): Promise<Job> {
    const { limits, shardRows, index } = this.#options
    await checkTable(index.dir, table ?? index.table, options.replace)
    return addTable(bytes, {
      ...this.#uploadParts(),
      name,
      limits,
      shardRows,
      newJob: (id) => this.#newJob(id, { name: name ?? 'upload', path: null }, options, { table }),
      signal: this.#queue.closing,
    })
  }

  async addFiles({ files, options, table }: FilesUpload): Promise<Job> {
    const { index } = this.#options
    await checkTable(index.dir, table ?? index.table, options.replace)
    return addFiles(files, {
      ...this.#uploadParts(),
      newJob: (id, name) => this.#newJob(id, { name, path: null, files: { uploaded: true } }, options, { table }),
    })
  }

  async list(): Promise<Job[]> {
    return (await this.#store.list()).map((job) => this.#fresh(job))
  }

  async get(id: string): Promise<Job> {
    return this.#fresh(await this.#store.load(id))
  }

  replacedTables(): Promise<readonly ReplacedTable[]> {
    const { index } = this.#options
    return replacedTables(index, () => this.#store.known(index.table))
  }

  async isAbandoned(id: string): Promise<boolean> {
    return !isSettled((await this.get(id)).state) && !(await this.#store.isLeased(id))
  }

  async cancel(id: string): Promise<Job> {
    const job = await this.get(id)
    if (['done', 'failed', 'cancelled'].includes(job.state))
      throw new CodedError('conflict', `The job ${id} is ${job.state} already.`, { field: 'id' })
    // A full disk prevents the cancel request from being written. Jobs of this process, and abandoned ones, are cancelled without it.
    await this.#store.requestCancel(id).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error
    })
    if (this.#queue.current?.id === id) await this.#queue.current.cancel()
    const now = await this.get(id)
    if (now.state === 'queued' || now.state === 'stopped') {
      await this.#cancelStopped(now)
    } else await this.#cancelAbandoned(id)
    return this.get(id)
  }

  #cancelStopped(job: Job): Promise<void> {
    return cancelStopped(job, { index: this.#options.index, store: this.#store })
  }

  /** Cancels the job of a dead process. A job that another process runs, or that waits here, is ended by the cancel request. */
  async #cancelAbandoned(id: string): Promise<void> {
    const lease = await this.#store.lease(id)
    if (lease === undefined) return
    try {
      const job = await this.#store.load(id)
      if (!isSettled(job.state)) await this.#cancelStopped(job)
    } finally {
      await lease.release()
    }
  }

  async resume(id: string): Promise<Job> {
    const job = await this.get(id)
    // The final write of a run must not overwrite the state saved below.
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

  /** Returns the newest state: that of the running job is ahead of its file. */
  #fresh(job: Job): Job {
    return this.#queue.current?.id === job.id ? this.#queue.current.job : job
  }

  #uploadParts() {
    return {
      store: this.#store,
      maxBytes: this.#options.maxUploadBytes ?? DEFAULT_UPLOAD_BYTES,
      order: (job: Job, lease: Lock | undefined) => this.#enqueue(job, lease),
    }
  }

  #newJob(id: string, source: Job['source'], options: JobOptions, { table, model }: Target = {}): Job {
    const { index } = this.#options
    return newJob({ id, table: table ?? index.table, model: model ?? index.model.id, source, options })
  }

  async #order(source: Job['source'], options: JobOptions, target: Target = {}): Promise<Job> {
    const { index } = this.#options
    await checkTable(index.dir, target.table ?? index.table, options.replace)
    const job = this.#newJob(await this.#store.newId(), source, options, target)
    await this.#enqueue(job)
    return job
  }

  async #enqueue(job: Job, lease?: Lock): Promise<void> {
    await this.#store.save(job)
    await this.#watch(job)
    await this.#queue.enqueue(job.id, lease)
  }

  /** Protects a named table from removal, which looks for jobs under the same lock. @throws unknown_collection if it was removed */
  async #watch({ id, table }: Job): Promise<void> {
    const { dir, table: main } = this.#options.index
    if (table === main) return watchChanges({ dir, table }, id)
    await withWriterLock({ dir, table }, async () => {
      if ((await readAlias(dir, table)) !== undefined) return watchChanges({ dir, table }, id)
      await this.#store.remove(id)
      throw unknownCollection(table)
    })
  }
}

/** Creates the record of a queued job. @throws options_invalid for options that its stored record could not contain */
function newJob({ id, table, model, source, options }: Pick<Job, 'id' | 'table' | 'model' | 'source' | 'options'>): Job {
  const [wrong] = Value.Errors(JobOptionsSchema, options)
  if (wrong !== undefined) {
    const field = wrong.instancePath.slice(1)
    throw new CodedError('options_invalid', `${field} ${wrong.message}.`, { field })
  }
  checkDeleteMissing(source, options)
  if (source.files?.web !== undefined && options.label !== undefined)
    throw new CodedError('invalid_request', 'label goes with files: the source of a page of the web is its address.', { field: 'label' })
  checkReading(options)
  return {
    version: JOB_VERSION,
    id,
    table,
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

function refuse(): Promise<never> {
  return Promise.reject(new CodedError('not_found', 'This process is a replica, which runs no jobs: order them from the indexer.'))
}

/** Null implementation for a process without jobs: never accesses the jobs folder. */
export const noJobs: Jobs = {
  addFile: refuse,
  addFolder: refuse,
  addImport: refuse,
  addPages: refuse,
  addShardDir: refuse,
  addReembed: refuse,
  addUpload: refuse,
  addFiles: refuse,
  list: () => Promise.resolve([]),
  get: refuse,
  isAbandoned: refuse,
  replacedTables: () => Promise.resolve([]),
  cancel: refuse,
  resume: refuse,
  reportPath: refuse,
  wait: refuse,
  start: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
