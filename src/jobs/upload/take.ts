import { stat } from 'node:fs/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import { READ_LIMITS, type ReadLimits } from '../../../index/read/contract.ts'
import { readPassages } from '../../../index/read/read.ts'
import { ARCHIVE, isArchive } from '../folder/list.ts'
import type { UploadedFile } from '../contract.ts'
import { corpusReadOptions, ReadingNotes } from '../reading.ts'
import { toJobError } from '../run/record.ts'
import { rejectedShare, type Job } from '../schema.ts'
import type { JobStore } from '../store.ts'
import { ArchiveBudget, limitBytes, takeTar, takeZip } from './archives.ts'
import { FileSpool } from './spool.ts'

/** Maximum entries of an archive. */
const MOST_ENTRIES = 20_000

interface AddFilesParts {
  readonly store: JobStore
  /** Maximum bytes of an upload, archives expanded. */
  readonly maxBytes: number
  readonly newJob: (id: string, name: string) => Job
  readonly order: (job: Job, lease: Lock | undefined) => Promise<void>
}

/**
 * Receives an upload into the folder of a new job. An interrupted or rejected one leaves nothing behind.
 * @param keeps whether what was received stays after an error
 */
async function receive(
  store: JobStore,
  work: (id: string, lease: Lock | undefined) => Promise<Job>,
  keeps: (error: unknown) => boolean = () => false,
): Promise<Job> {
  const id = await store.newId()
  const lease = await store.lease(id)
  try {
    return await work(id, lease)
  } catch (error) {
    try {
      if (!keeps(error)) await store.remove(id)
    } finally {
      await lease?.release()
    }
    throw failureOf(error) ?? error
  }
}

/** Stores uploaded files in the job's folder and queues the job. */
export function addFiles(
  files: AsyncIterable<UploadedFile> | Iterable<UploadedFile>,
  { store, maxBytes, newJob, order }: AddFilesParts,
): Promise<Job> {
  return receive(store, async (id, lease) => {
    // Reject invalid options before receiving anything.
    newJob(id, '')
    const names: string[] = []
    const named = async function* (): AsyncGenerator<UploadedFile> {
      for await (const file of files) {
        names.push(file.name)
        yield file
      }
    }
    const spool = new FileSpool(jobFiles(store.folder(id)).uploads)
    await takeFiles(named(), spool, maxBytes)
    const [first] = names
    if (first === undefined)
      throw new CodedError('invalid_request', 'The form holds no file: send documents, tables, or an archive of them.', { field: 'body' })
    await spool.finish()
    const job = newJob(id, names.length === 1 ? first : `${first} and ${names.length - 1} more`)
    await order(job, lease)
    return job
  })
}

interface AddTableParts extends Omit<AddFilesParts, 'newJob'> {
  readonly newJob: (id: string) => Job
  /** File name, if the client sent one. */
  readonly name: string | undefined
  readonly limits: Partial<ReadLimits> | undefined
  /** Passages per commit. */
  readonly shardRows: number | undefined
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
}

/** Plans a table while it is received, and queues its job. One with too many invalid lines is kept as a failed job, for its report. */
export function addTable(
  bytes: AsyncIterable<Buffer>,
  { store, maxBytes, newJob, order, name, limits, shardRows, signal }: AddTableParts,
): Promise<Job> {
  let isKept = false
  const plan = async (id: string, lease: Lock | undefined): Promise<Job> => {
    let job = newJob(id)
    const notes = new ReadingNotes()
    const items = readPassages(limitBytes(bytes, maxBytes), corpusReadOptions(job.options, name, limits))
    const planned = planCorpus(notes.of(items), {
      folder: store.folder(id),
      maxRejectedShare: rejectedShare(job.options),
      signal,
      onProgress: (counts) => (job = { ...job, counters: { ...job.counters, ...counts } }),
      ...(shardRows && { shardRows }),
    })
    const { read, rejected, accepted } = await planned.catch(async (error: unknown) => {
      if (toJobError(error).code !== 'corpus_invalid' || job.counters.rejected === 0) throw error
      await store.dropShards(id)
      const ended = { state: 'failed' as const, error: toJobError(error), finished_at: new Date().toISOString() }
      await store.save({ ...job, ...ended, recent_rejects: notes.rejects })
      isKept = true
      throw new CodedError('corpus_invalid', `${messageOf(error)} The report: GET /v1/admin/index-jobs/${id}/report.`, {
        field: 'body',
        cause: error,
      })
    })
    const counters = { ...job.counters, read, rejected, accepted }
    job = { ...job, counters, recent_rejects: notes.rejects, warnings: notes.warnings }
    await order(job, lease)
    return job
  }
  return receive(store, plan, () => isKept)
}

/**
 * Stores the files of an upload, archives expanded. Files of a single archive keep their paths; otherwise the archive's name is their
 * folder.
 * @param maxBytes limit of all files, archives expanded
 * @throws payload_too_large, corpus_invalid for a damaged archive, invalid_request for a repeated name
 */
export async function takeFiles(files: AsyncIterable<UploadedFile>, spool: FileSpool, maxBytes: number): Promise<void> {
  const archives: { readonly name: string; readonly stored: string }[] = []
  let others = 0
  let received = 0
  const counted = async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of limitBytes(bytes, maxBytes - received)) {
      received += chunk.length
      yield chunk
    }
  }
  for await (const { name, bytes, encoding } of files) {
    if (isArchive(name)) archives.push({ name, stored: await spool.store(counted(bytes)) })
    else {
      others++
      await spool.take(name, counted(bytes), { encoding })
    }
  }
  let expanded = 0
  for (const { name, stored } of archives) {
    const at = spool.pathOf(stored)
    const budget = new ArchiveBudget(
      { entries: MOST_ENTRIES, bytes: maxBytes - expanded, ratio: READ_LIMITS.expansionRatio },
      (await stat(at)).size,
    )
    const within = archives.length + others === 1 ? '' : `${name.replace(ARCHIVE, '')}/`
    await (/\.zip$/i.test(name) ? takeZip : takeTar)(at, spool, budget, within)
    await spool.drop(stored)
    expanded += budget.bytes
  }
}
