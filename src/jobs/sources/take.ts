import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { type Entry, openPromise } from 'yauzl'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { describedError, failureOf } from '../../../base/failures.ts'
import { fileBytes } from '../../../base/files.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import { RATIO_FROM, READ_LIMITS, type ReadLimits } from '../../../index/read/contract.ts'
import { gunzip } from '../../../index/read/expand.ts'
import { readPassages } from '../../../index/read/read.ts'
import { isGzip, peek } from '../../../index/read/sniff.ts'
import { ARCHIVE, isArchive } from './list.ts'
import { corpusReadOptions, ReadingNotes } from './reading.ts'
import { type Job, moved, rejectedShare } from '../record/schema.ts'
import type { JobStore } from '../record/store.ts'
import { entryName, FileSpool } from './spool.ts'

/** A file being received. */
export interface UploadedFile {
  readonly name: string
  readonly bytes: AsyncIterable<Buffer>
  /** Encoding named by its content type. */
  readonly encoding?: string | undefined
}

/** Entries (files, folders and links), expanded bytes of an upload's files, and ratio to compressed bytes beyond 64 MiB, at most. */
type ArchiveLimits = Readonly<Record<'entries' | 'bytes' | 'ratio', number>>

/** Remaining limits of expanding an archive. Counts actual bytes, not the declared sizes. */
class ArchiveBudget {
  readonly #limits: ArchiveLimits
  readonly #archiveBytes: number
  #entries = 0
  #bytes = 0

  constructor(limits: ArchiveLimits, archiveBytes: number) {
    this.#limits = limits
    this.#archiveBytes = archiveBytes
  }

  /** Bytes expanded so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts entries, before they are read where their number is known. @throws payload_too_large */
  entries(count: number): void {
    if ((this.#entries += count) > this.#limits.entries) throw tooLarge(`has more than ${this.#limits.entries} entries`)
  }

  /** @throws payload_too_large */
  async *expanding(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { bytes, ratio } = this.#limits
    for await (const chunk of chunks) {
      this.#bytes += chunk.length
      if (this.#bytes > bytes) throw tooLarge(`expands to more than ${bytes} bytes (CEPE_UPLOAD_LIMIT_MB)`)
      if (this.#bytes > RATIO_FROM && this.#bytes > this.#archiveBytes * ratio)
        throw tooLarge(`expands to more than ${ratio} times its size`)
      yield chunk
    }
  }
}

function tooLarge(problem: string): CodedError {
  return new CodedError('payload_too_large', `The archive ${problem}: send its files in several.`, { field: 'file' })
}

/** Forwards a stream up to a number of bytes. @throws payload_too_large beyond it */
async function* limitBytes(bytes: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let total = 0
  for await (const chunk of bytes) {
    total += chunk.length
    if (total > most) {
      const message = `The upload has more than ${most} bytes: put the file into the import folder and name it.`
      throw new CodedError('payload_too_large', message, { field: 'body' })
    }
    yield chunk
  }
}

const FILES = ['file', 'contiguous-file']
const LINKS = ['link', 'symlink']
const LINK = 0o120000
const KIND = 0o170000

/** Stores the files of a tar archive, optionally gzipped. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
async function takeTar(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  const { head, all } = await peek(fileBytes(archive), 2)
  const entries = extract()
  const reading = pipeline(Readable.from(isGzip(head) ? gunzip(all, READ_LIMITS) : all), entries)
  // Awaited below: without a handler, an earlier failure would be unhandled.
  reading.catch(() => undefined)
  let read = 0
  try {
    for await (const entry of entries) {
      budget.entries(1)
      read++
      const { name, type, mtime } = entry.header
      const file = within + entryName(name)
      if (FILES.includes(type ?? 'file')) await spool.take(file, budget.expanding(entry as AsyncIterable<Buffer>), { modified: mtime })
      else if (LINKS.includes(type ?? '')) spool.leaveOut(file, 'link', 'Links in archives are not followed.')
      else if (type !== 'directory') spool.leaveOut(file, 'not_supported', 'It is no regular file.')
      entry.resume()
    }
    await reading
  } catch (error) {
    throw damaged('tar', error)
  } finally {
    entries.destroy()
  }
  if (read === 0) throw new CodedError('corpus_invalid', 'The tar archive is empty.', { field: 'file' })
}

/** Stores the files of a ZIP archive. @throws corpus_invalid (damaged, paths outside of it), payload_too_large */
async function takeZip(archive: string, spool: FileSpool, budget: ArchiveBudget, within: string): Promise<void> {
  try {
    const zip = await openPromise(archive, { lazyEntries: true, autoClose: false, decodeStrings: true, strictFileNames: false })
    try {
      budget.entries(zip.entryCount)
      for await (const entry of zip.eachEntry()) {
        const file = within + entryName(entry.fileName)
        if (entry.fileName.endsWith('/')) continue
        if (isLink(entry)) spool.leaveOut(file, 'link', 'Links in archives are not followed.')
        else if (entry.isEncrypted()) spool.leaveOut(file, 'encrypted', 'The entry is encrypted.')
        else {
          const content = await zip.openReadStreamPromise(entry)
          // A stream with a wrong declared size emits a second error after it was destroyed.
          content.on('error', () => undefined)
          await spool.take(file, budget.expanding(content as AsyncIterable<Buffer>), { modified: entry.getLastModDate() })
        }
      }
    } finally {
      zip.close()
    }
  } catch (error) {
    throw damaged('ZIP', error)
  }
}

function isLink({ externalFileAttributes }: Entry): boolean {
  return ((externalFileAttributes >>> 16) & KIND) === LINK
}

/** The error of an archive; a system error while its files are written stays as it is. */
function damaged(format: string, error: unknown): unknown {
  if (error instanceof CodedError || (error instanceof Error && 'syscall' in error)) return error
  return new CodedError('corpus_invalid', `The ${format} archive is damaged (${messageOf(error)}).`, { field: 'file', cause: error })
}

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
      if (describedError(error).code !== 'corpus_invalid' || job.counters.rejected === 0) throw error
      await store.dropShards(id)
      await store.save(moved(job, 'failed', { error: describedError(error), recent_rejects: notes.rejects }))
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
