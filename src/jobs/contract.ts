import type { ReplacedTable } from '../../index/ingest/remove-stale.ts'
import type { QueueOptions } from './queue.ts'
import type { Job, JobOptions } from './schema.ts'
import type { UploadedFile } from './upload/contract.ts'

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

/** Orders of bulk indexing: each makes a job and queues it. */
export interface JobOrders {
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
}

/** Bulk indexing: jobs in a queue on the disk, one running at a time over all processes of an index. */
export interface Jobs extends JobOrders {
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
