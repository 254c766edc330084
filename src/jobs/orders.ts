import { basename, dirname } from 'node:path'
import { conflict, invalidCorpus, invalidRequest, messageOf } from '../../base/errors.ts'
import { describedError, failureOf } from '../../base/failures.ts'
import { fileBytes } from '../../base/files.ts'
import type { Lock } from '../../base/locks/lock.ts'
import { unknownCollection } from '../../index/collections/contract.ts'
import { allModels } from '../../index/contract.ts'
import { jobFiles } from '../../index/ingest/plan/contract.ts'
import { planCorpus } from '../../index/ingest/plan/plan.ts'
import { checkReembed } from '../../index/ingest/reembed.ts'
import { checkShardDir, checkShardDirModel, openShardDir } from '../../index/ingest/shard-dir/shard-dir.ts'
import { readPassages } from '../../index/read/read.ts'
import { checkTable, readAlias } from '../../index/versions/alias.ts'
import { watchChanges } from '../../index/writers/change-log.ts'
import { withWriterLock } from '../../index/writers/locks.ts'
import { importPath } from './kept/served-file.ts'
import { isFinal, JOB_VERSION, moved, rejectedShare, type Job, type JobOptions, type WebSource } from './record/schema.ts'
import type { JobStore } from './record/store.ts'
import type { JobParts } from './run/live-job.ts'
import type { JobQueue } from './run/runner.ts'
import { checkedAddresses } from './sources/fetch-pages.ts'
import { ARCHIVE, isDocument } from './sources/list.ts'
import { checkOptions, corpusReadOptions, ReadingNotes, tableOptionOf } from './sources/reading.ts'
import { FileSpool } from './sources/spool.ts'
import { byteLimit, takeFiles, type UploadedFiles } from './sources/take.ts'

const DEFAULT_UPLOAD_BYTES = 64 * 2 ** 30

interface OrderContext {
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

interface FilesUpload extends Pick<Target, 'table'> {
  readonly files: UploadedFiles
  readonly options: JobOptions
}

export interface Upload extends Omit<FilesUpload, 'files'> {
  readonly bytes: AsyncIterable<Buffer>
  /** File name, if the client sent one. */
  readonly name?: string | undefined
}

/** Orders of jobs. All throw unknown_collection for a named table that does not exist. */
export function ordersOf(context: OrderContext) {
  const { index, importDir } = context.parts
  return {
    /** Indexes a file by path. For the command line only; HTTP uses `addImport`. @throws options_invalid */
    addFile: (path: string, options: JobOptions) => order(context, { name: basename(path), path }, options),
    /** Indexes all or the named documents of a folder. For the command line only. @throws options_invalid */
    addFolder: (path: string, options: JobOptions, only?: readonly string[]) => {
      const [first = '', ...others] = only ?? []
      const name = first === '' || others.length > 0 ? basename(path) : first
      return order(context, { name, path, files: { ...(only && { only: [...only] }) } }, options)
    },
    /**
     * Indexes web pages, and the pages listed by sitemaps among the addresses.
     * @throws forbidden for an address that may not be fetched, invalid_request for an invalid one
     */
    addPages: async (web: WebSource, options: JobOptions, table?: string) => {
      const urls = checkedAddresses(web)
      refuseTableOptions(options)
      return order(context, { name: nameOf(urls), path: null, files: { web: { ...web, urls } } }, options, { table })
    },
    /**
     * Indexes a table, document, archive or folder inside the import folder. The source of a document is its path there, so that the file
     * can be served later.
     * @param only folder in the import folder that the name must be in. Default: any
     * @throws errors of `importPath`
     */
    addImport: async (source: string, options: JobOptions, table?: string, only?: string) => {
      const { path, within, isFolder } = await importPath(importDir, source, only)
      const labelled = (folder: string): JobOptions => (folder === '' || folder === '.' ? options : { label: folder, ...options })
      const name = basename(path)
      if (isFolder) return order(context, { name: within || name, path, files: { tables: true } }, labelled(within), { table })
      if (ARCHIVE.test(path)) return orderFiles(context, { files: [{ name, bytes: fileBytes(path) }], options, table })
      if (!isDocument(path)) return order(context, { name, path }, options, { table })
      refuseTableOptions(options)
      return order(context, { name, path: dirname(path), files: { only: [name] } }, labelled(dirname(within)), { table })
    },
    /**
     * Commits a shard directory: a planned corpus with precomputed vectors. Resumes an unfinished job of it. For the command line only.
     * @throws index_invalid naming missing or foreign shards, or another model; conflict if an unfinished job has other options
     */
    addShardDir: async (folder: string, options: Pick<JobOptions, 'replace'>) => {
      const shardDir = await openShardDir(folder)
      const model = allModels(index).find(({ id }) => id === shardDir.model) ?? index.model
      checkShardDirModel(shardDir, model)
      const open = await openJob(context, ({ source, table }) => source.place === true && source.path === folder && table === index.table)
      if (open !== undefined && (open.options.replace ?? false) !== (options.replace ?? false)) {
        const message = `The job ${open.id} commits ${folder} already, ordered ${open.options.replace === true ? 'with' : 'without'} --replace: resume or cancel it.`
        throw conflict('--replace', message)
      }
      if (open !== undefined) return context.resume(open.id)
      await checkShardDir(shardDir)
      return order(context, { name: shardDir.name, path: folder, place: true }, options, { model: model.id })
    },
    /**
     * Embeds the table's passages again, with the model of new tables, into a table that replaces it. Resumes an unfinished job.
     * @throws conflict if its vectors are already of that model; index_missing, index_invalid
     */
    addReembed: async (table = index.table) => {
      const { dir, model } = index
      const open = await openJob(context, (job) => job.source.reembed === true && job.table === table && job.model === model.id)
      if (open !== undefined) return context.resume(open.id)
      await checkReembed({ dir, table }, model)
      return order(context, { name: table, path: null, reembed: true }, { replace: true }, { table })
    },
    /**
     * Reads, validates and plans an uploaded table. An interrupted or rejected upload leaves nothing behind, except that one with too many
     * invalid lines is kept as a failed job, for its report.
     */
    addUpload: (upload: Upload) => orderUpload(context, upload),
    /**
     * Stores the uploaded files, archives expanded. An interrupted or rejected upload leaves nothing behind.
     * @throws payload_too_large, corpus_invalid for a damaged archive, invalid_request without a file
     */
    addFiles: (upload: FilesUpload) => orderFiles(context, upload),
  }
}

/** "a.md and 3 more" */
function nameOf([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`
}

/** @throws invalid_request for an option that has no effect without a table */
function refuseTableOptions(options: JobOptions): void {
  const unread = tableOptionOf(options)
  if (unread !== undefined) throw invalidRequest(unread, `${unread} applies to tables, and there is none: leave it out.`)
}

/** A job that is running, queued or resumable. */
async function openJob({ store }: OrderContext, isWanted: (job: Job) => boolean): Promise<Job | undefined> {
  return (await store.list()).find((job) => !isFinal(job.state) && isWanted(job))
}

async function orderUpload(context: OrderContext, { bytes, name, options, table }: Upload): Promise<Job> {
  const { parts, store, queue } = context
  const { shardRows, maxUploadBytes = DEFAULT_UPLOAD_BYTES } = parts
  await checkTarget(context, options, table)
  return receive(store, async (id, lease) => {
    const job = newJobOf(context, id, { name: name ?? 'upload', path: null }, { options, table })
    const notes = new ReadingNotes()
    let counts: Partial<Job['counters']> = {}
    const { rejects } = notes
    const planned = (): Job => ({ ...job, counters: { ...job.counters, ...counts }, recent_rejects: rejects, warnings: notes.warnings })
    const planning = planCorpus(notes.of(readPassages(byteLimit(maxUploadBytes)(bytes), corpusReadOptions(options, name))), {
      folder: store.folder(id),
      maxRejectedShare: rejectedShare(options),
      signal: queue.closing,
      onProgress: (now) => (counts = now),
      ...(shardRows && { shardRows }),
    })
    const { read, rejected, accepted } = await planning.catch(async (error: unknown) => {
      if (describedError(error).code !== 'corpus_invalid' || !counts.rejected) throw error
      await store.dropShards(id)
      await store.save(moved(planned(), 'failed', { error: describedError(error) }))
      throw invalidCorpus('body', `${messageOf(error)} The report: GET /v1/admin/index-jobs/${id}/report.`, error)
    })
    counts = { read, rejected, accepted }
    return enqueue(context, planned(), lease)
  })
}

async function orderFiles(context: OrderContext, { files, options, table }: FilesUpload): Promise<Job> {
  const { parts, store } = context
  await checkTarget(context, options, table)
  return receive(store, async (id, lease) => {
    const newJob = (name: string) => newJobOf(context, id, { name, path: null, files: { uploaded: true } }, { options, table })
    // Reject invalid options before receiving anything.
    newJob('')
    const spool = new FileSpool(jobFiles(store.folder(id)).uploads)
    const names = await takeFiles(files, spool, parts.maxUploadBytes ?? DEFAULT_UPLOAD_BYTES)
    if (names.length === 0) throw invalidRequest('body', 'The form holds no file: send documents, tables, or an archive of them.')
    if (names.every(isDocument)) refuseTableOptions(options)
    await spool.finish()
    return enqueue(context, newJob(nameOf(names)), lease)
  })
}

/** Makes a job in a folder that is new. An interrupted or rejected order leaves nothing behind but the record of a failed job. */
async function receive(store: JobStore, work: (id: string, lease: Lock | undefined) => Promise<Job>): Promise<Job> {
  const id = await store.newId()
  const lease = await store.lease(id)
  try {
    return await work(id, lease)
  } catch (error) {
    try {
      // A failed job has a report.
      const job = await store.load(id).catch(() => undefined)
      if (job?.state !== 'failed') await store.remove(id)
    } finally {
      await lease?.release()
    }
    throw failureOf(error) ?? error
  }
}

async function order(context: OrderContext, source: Job['source'], options: JobOptions, target: Target = {}): Promise<Job> {
  await checkTarget(context, options, target.table)
  return receive(context.store, (id, lease) => enqueue(context, newJobOf(context, id, source, { options, ...target }), lease))
}

function checkTarget({ parts: { index } }: OrderContext, { replace }: JobOptions, table = index.table): Promise<void> {
  return checkTable({ dir: index.dir, table }, replace)
}

async function enqueue({ parts: { index }, store, queue }: OrderContext, job: Job, lease?: Lock): Promise<Job> {
  const { id, table } = job
  const { dir } = index
  await store.save(job)
  const watch = () => watchChanges({ dir, table }, id)
  // A named table is protected from removal, which looks for jobs under the same lock.
  if (table === index.table) await watch()
  else
    await withWriterLock({ dir, table }, async () => {
      if ((await readAlias({ dir, table })) !== undefined) return watch()
      throw unknownCollection(table)
    })
  await queue.enqueue(id, lease)
  return job
}

/** Creates the record of a queued job. @throws as checkOptions */
function newJobOf(
  { parts: { index } }: OrderContext,
  id: string,
  source: Job['source'],
  ordered: Target & { readonly options: JobOptions },
): Job {
  const { options, table = index.table, model = index.model.id } = ordered
  checkOptions(source, options)
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
