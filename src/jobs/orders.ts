import { basename, dirname } from 'node:path'
import { Value } from '#typebox/value'
import { CodedError } from '../../base/errors.ts'
import { fileBytes } from '../../base/files.ts'
import type { Lock } from '../../base/locks/lock.ts'
import { unknownCollection } from '../../index/collections/contract.ts'
import { allModels } from '../../index/contract.ts'
import { checkReembed } from '../../index/ingest/reembed.ts'
import { checkShardDir, checkShardDirModel, openShardDir } from '../../index/ingest/shard-dir/shard-dir.ts'
import { checkTable, readAlias } from '../../index/versions/alias.ts'
import { watchChanges } from '../../index/writers/change-log.ts'
import { withWriterLock } from '../../index/writers/locks.ts'
import type { FilesUpload, Orders, Upload } from './contract.ts'
import { importPath } from './kept/served-file.ts'
import { isFinal, JOB_VERSION, JobOptionsSchema, type Job, type JobOptions } from './record/schema.ts'
import type { JobStore } from './record/store.ts'
import type { JobParts } from './run/live-job.ts'
import type { JobQueue } from './run/runner.ts'
import { checkedAddresses } from './sources/fetch-pages.ts'
import { isArchive, isDocument } from './sources/list.ts'
import { checkDeleteMissing } from './sources/missing.ts'
import { checkReading } from './sources/reading.ts'
import { addFiles, addTable } from './sources/take.ts'

/** Maximum bytes of an upload by default. */
const DEFAULT_UPLOAD_BYTES = 64 * 2 ** 30

/** Where jobs are ordered. */
export interface Desk {
  readonly parts: JobParts
  readonly store: JobStore
  readonly queue: JobQueue
  readonly resume: (id: string) => Promise<Job>
}

/** Table and model of a job. Defaults: those of the index. */
interface Target {
  readonly table?: string | undefined
  readonly model?: string
}

/** The orders of jobs, one function each. */
export function ordersOf(desk: Desk): Orders {
  const { index } = desk.parts
  return {
    addFile: (path, options) => order(desk, { name: basename(path), path }, options),
    addFolder: (path, options, only) => {
      const [first = '', ...others] = only ?? []
      const name = first === '' || others.length > 0 ? basename(path) : first
      return order(desk, { name, path, files: { ...(only && { only: [...only] }) } }, options)
    },
    addPages: async (web, options, table) => {
      const urls = checkedAddresses(web)
      const [first = ''] = urls
      const name = urls.length === 1 ? first : `${first} and ${urls.length - 1} more`
      return order(desk, { name, path: null, files: { web: { ...web, urls } } }, options, { table })
    },
    addImport: async (name, options, table, only) => {
      const found = await importPath(desk.parts.importDir, name, only)
      return orderImport(desk, found, options, table)
    },
    addShardDir: (folder, options) => orderShardDir(desk, folder, options),
    addReembed: (table = index.table) => orderReembed(desk, table),
    addUpload: (upload) => orderUpload(desk, upload),
    addFiles: (upload) => orderFiles(desk, upload),
  }
}

async function orderImport(
  desk: Desk,
  { path, within, isFolder }: Awaited<ReturnType<typeof importPath>>,
  options: JobOptions,
  table: string | undefined,
): Promise<Job> {
  const labelled = (folder: string): JobOptions => (folder === '' || folder === '.' ? options : { label: folder, ...options })
  const name = basename(path)
  if (isFolder) return order(desk, { name: within || name, path, files: { tables: true } }, labelled(within), { table })
  if (isArchive(path)) return orderFiles(desk, { files: [{ name, bytes: fileBytes(path) }], options, table })
  if (isDocument(path)) return order(desk, { name, path: dirname(path), files: { only: [name] } }, labelled(dirname(within)), { table })
  return order(desk, { name, path }, options, { table })
}

async function orderShardDir(desk: Desk, folder: string, options: Pick<JobOptions, 'replace'>): Promise<Job> {
  const { index } = desk.parts
  const shardDir = await openShardDir(folder)
  const model = allModels(index).find(({ id }) => id === shardDir.model) ?? index.model
  checkShardDirModel(shardDir, model)
  const open = await openJob(desk, ({ source, table }) => source.place === true && source.path === folder && table === index.table)
  if (open !== undefined && (open.options.replace ?? false) !== (options.replace ?? false)) {
    const message = `The job ${open.id} commits ${folder} already, ordered ${open.options.replace === true ? 'with' : 'without'} --replace: resume or cancel it.`
    throw new CodedError('conflict', message, { field: '--replace' })
  }
  if (open !== undefined) return desk.resume(open.id)
  await checkShardDir(shardDir)
  return order(desk, { name: shardDir.name, path: folder, place: true }, options, { model: model.id })
}

async function orderReembed(desk: Desk, table: string): Promise<Job> {
  const { dir, model } = desk.parts.index
  const open = await openJob(desk, (job) => job.source.reembed === true && job.table === table && job.model === model.id)
  if (open !== undefined) return desk.resume(open.id)
  await checkReembed({ dir, table }, model)
  return order(desk, { name: table, path: null, reembed: true }, { replace: true }, { table })
}

/** A job that is running, queued or resumable. */
async function openJob({ store }: Desk, isWanted: (job: Job) => boolean): Promise<Job | undefined> {
  return (await store.list()).find((job) => !isFinal(job.state) && isWanted(job))
}

async function orderUpload(desk: Desk, { bytes, name, options, table }: Upload): Promise<Job> {
  const { limits, shardRows } = desk.parts
  await checkTarget(desk, options, table)
  const newJob = (id: string) => newJobOf(desk, id, { name: name ?? 'upload', path: null }, { options, table })
  return addTable(bytes, { ...receiving(desk), name, limits, shardRows, newJob, signal: desk.queue.closing })
}

async function orderFiles(desk: Desk, { files, options, table }: FilesUpload): Promise<Job> {
  await checkTarget(desk, options, table)
  const newJob = (id: string, name: string) => newJobOf(desk, id, { name, path: null, files: { uploaded: true } }, { options, table })
  return addFiles(files, { ...receiving(desk), newJob })
}

function receiving(desk: Desk) {
  const { store, parts } = desk
  const order = (job: Job, lease: Lock | undefined) => enqueue(desk, job, lease)
  return { store, maxBytes: parts.maxUploadBytes ?? DEFAULT_UPLOAD_BYTES, order }
}

async function order(desk: Desk, source: Job['source'], options: JobOptions, target: Target = {}): Promise<Job> {
  await checkTarget(desk, options, target.table)
  const job = newJobOf(desk, await desk.store.newId(), source, { options, ...target })
  await enqueue(desk, job)
  return job
}

function checkTarget({ parts: { index } }: Desk, { replace }: JobOptions, table = index.table): Promise<void> {
  return checkTable({ dir: index.dir, table }, replace)
}

async function enqueue({ parts: { index }, store, queue }: Desk, job: Job, lease?: Lock): Promise<void> {
  const { id, table } = job
  const { dir } = index
  await store.save(job)
  const watch = () => watchChanges({ dir, table }, id)
  // A named table is protected from removal, which looks for jobs under the same lock.
  if (table === index.table) await watch()
  else
    await withWriterLock({ dir, table }, async () => {
      if ((await readAlias({ dir, table })) !== undefined) return watch()
      await store.remove(id)
      throw unknownCollection(table)
    })
  await queue.enqueue(id, lease)
}

/** Creates the record of a queued job. @throws options_invalid for options that its stored record could not contain */
function newJobOf({ parts: { index } }: Desk, id: string, source: Job['source'], ordered: Target & { readonly options: JobOptions }): Job {
  const { options, table = index.table, model = index.model.id } = ordered
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
