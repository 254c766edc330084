import { createReadStream } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Value } from '#typebox/value'
import type { Lock } from '../../../base/locks/lock.ts'
import { CodedError } from '../../../base/errors.ts'
import { unknownCollection } from '../../../index/collections/contract.ts'
import { allModels } from '../../../index/contract.ts'
import { checkReembed } from '../../../index/ingest/reembed.ts'
import { checkShardDir } from '../../../index/ingest/shard-dir/check.ts'
import { checkShardDirModel, openShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { checkTable, readAlias } from '../../../index/versions/alias.ts'
import { watchChanges } from '../../../index/writers/change-log.ts'
import { withWriterLock } from '../../../index/writers/writer-lock.ts'
import type { FilesUpload, JobOrders, JobsOptions, Upload } from '../contract.ts'
import { isArchive, isDocument } from '../folder/list.ts'
import { checkDeleteMissing } from '../folder/missing.ts'
import { importPath } from '../import-folder.ts'
import { JobQueue } from '../queue.ts'
import { checkReading } from '../reading.ts'
import { isSettled, JobOptionsSchema, recordVersion, type Job, type JobOptions, type WebSource } from '../schema.ts'
import { JobStore } from '../store.ts'
import { addFiles } from '../upload/add-files.ts'
import { addTable } from '../upload/add-table.ts'
import { checkedAddresses } from '../web/addresses.ts'

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

/** Creates jobs and queues them. */
export abstract class IndexOrders implements JobOrders {
  protected readonly options: JobsOptions
  protected readonly store: JobStore
  protected readonly queue: JobQueue

  constructor(options: JobsOptions) {
    this.options = options
    this.store = new JobStore(options.jobsDir)
    this.queue = new JobQueue(options, this.store)
  }

  /** Resumes an unfinished job. */
  abstract resume(id: string): Promise<Job>

  async addFile(path: string, options: JobOptions): Promise<Job> {
    return this.#order({ name: basename(path), path }, options)
  }

  async addFolder(path: string, options: JobOptions, only?: readonly string[]): Promise<Job> {
    const [first] = only ?? []
    const name = only?.length === 1 && first !== undefined ? first : basename(path)
    return this.#order({ name, path, files: { ...(only && { only: [...only] }) } }, options)
  }

  async addImport(name: string, options: JobOptions, table?: string, only?: string): Promise<Job> {
    const { path, within, isFolder } = await importPath(this.options.importDir, name, only)
    const labelled = (folder: string): JobOptions => (folder === '' || folder === '.' ? options : { label: folder, ...options })
    if (isFolder) {
      const source = { name: within || basename(path), path, files: { tables: true as const } }
      return this.#order(source, labelled(within), { table })
    }
    if (isArchive(path)) return this.addFiles({ files: [{ name: basename(path), bytes: createReadStream(path) }], options, table })
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
    const model = allModels(this.options.index).find(({ id }) => id === shardDir.model) ?? this.options.index.model
    checkShardDirModel(shardDir, model)
    const open = (await this.store.list()).find(
      ({ source, table, state }) =>
        source.place === true && source.path === folder && table === this.options.index.table && isUnfinished({ state }),
    )
    if (open !== undefined && (open.options.replace ?? false) !== (options.replace ?? false))
      throw new CodedError(
        'conflict',
        `The job ${open.id} commits ${folder} already, ordered ${open.options.replace === true ? 'with' : 'without'} --replace: resume or cancel it.`,
        { field: '--replace' },
      )
    if (open !== undefined) return this.resume(open.id)
    await checkShardDir(shardDir)
    return this.#order({ name: shardDir.name, path: folder, place: true }, options, { model: model.id })
  }

  async addReembed(table = this.options.index.table): Promise<Job> {
    const { dir, model } = this.options.index
    const open = (await this.store.list()).find(
      (job) => job.source.reembed === true && job.table === table && job.model === model.id && isUnfinished(job),
    )
    if (open !== undefined) return this.resume(open.id)
    await checkReembed({ dir, table }, model)
    return this.#order({ name: table, path: null, reembed: true }, { replace: true }, { table })
  }

  async addUpload({ bytes, name, options, table }: Upload): Promise<Job> {
    const { limits, shardRows, index } = this.options
    await checkTable(index.dir, table ?? index.table, options.replace)
    return addTable(bytes, {
      ...this.#uploadParts(),
      name,
      limits,
      shardRows,
      newJob: (id) => this.#newJob(id, { name: name ?? 'upload', path: null }, options, { table }),
      signal: this.queue.closing,
    })
  }

  async addFiles({ files, options, table }: FilesUpload): Promise<Job> {
    const { index } = this.options
    await checkTable(index.dir, table ?? index.table, options.replace)
    return addFiles(files, {
      ...this.#uploadParts(),
      newJob: (id, name) => this.#newJob(id, { name, path: null, files: { uploaded: true } }, options, { table }),
    })
  }

  #uploadParts() {
    return {
      store: this.store,
      maxBytes: this.options.maxUploadBytes ?? DEFAULT_UPLOAD_BYTES,
      order: (job: Job, lease: Lock | undefined) => this.#enqueue(job, lease),
    }
  }

  #newJob(id: string, source: Job['source'], options: JobOptions, { table, model }: Target = {}): Job {
    const { index } = this.options
    return newJob({ id, table: table ?? index.table, model: model ?? index.model.id, source, options })
  }

  async #order(source: Job['source'], options: JobOptions, target: Target = {}): Promise<Job> {
    const { index } = this.options
    await checkTable(index.dir, target.table ?? index.table, options.replace)
    const job = this.#newJob(await this.store.newId(), source, options, target)
    await this.#enqueue(job)
    return job
  }

  async #enqueue(job: Job, lease?: Lock): Promise<void> {
    await this.store.save(job)
    await this.#watch(job)
    await this.queue.enqueue(job.id, lease)
  }

  /** Protects a named table from removal, which looks for jobs under the same lock. @throws unknown_collection if it was removed */
  async #watch({ id, table }: Job): Promise<void> {
    const { dir, table: main } = this.options.index
    if (table === main) return watchChanges(dir, table, id)
    await withWriterLock(dir, table, async () => {
      if ((await readAlias(dir, table)) !== undefined) return watchChanges(dir, table, id)
      await this.store.remove(id)
      throw unknownCollection(table)
    })
  }
}

/** Parameters of a new job. */
type NewJob = Required<Pick<Job, 'id' | 'table' | 'model' | 'source' | 'options'>>

/** Creates the record of a queued job. @throws options_invalid for options that its stored record could not contain */
function newJob({ id, table, model, source, options }: NewJob): Job {
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
    version: recordVersion(source),
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
