import type { ReplacedTable } from '../../index/ingest/remove-stale.ts'
import type { Job, JobOptions, WebSource } from './record/schema.ts'
import type { UploadedFile } from './sources/take.ts'

export interface Upload {
  /** Default: the index's main table. */
  readonly table?: string | undefined
  readonly bytes: AsyncIterable<Buffer>
  /** File name, if the client sent one. */
  readonly name?: string | undefined
  readonly options: JobOptions
}

export interface FilesUpload extends Pick<Upload, 'table' | 'options'> {
  readonly files: AsyncIterable<UploadedFile> | Iterable<UploadedFile>
}

/** Orders of jobs. All throw unknown_collection for a named table that does not exist. */
export interface Orders {
  /** Indexes a file by path. For the command line only; HTTP uses `addImport`. @throws options_invalid */
  addFile(path: string, options: JobOptions): Promise<Job>
  /** Indexes all or the named documents of a folder. For the command line only. @throws options_invalid */
  addFolder(path: string, options: JobOptions, only?: readonly string[]): Promise<Job>
  /**
   * Indexes web pages, and the pages listed by sitemaps among the addresses.
   * @throws forbidden for an address that may not be fetched, invalid_request for an invalid one
   */
  addPages(source: WebSource, options: JobOptions, table?: string): Promise<Job>
  /**
   * Indexes a table, document, archive or folder inside the import folder. The source of a document is its path there, so that the file
   * can be served later.
   * @param only folder in the import folder that the name must be in. Default: any
   * @throws errors of `importPath`
   */
  addImport(name: string, options: JobOptions, table?: string, only?: string): Promise<Job>
  /**
   * Commits a shard directory: a planned corpus with precomputed vectors. Resumes an unfinished job of the same directory. For the command
   * line only.
   * @throws index_invalid naming missing or foreign shards, or another model; conflict if an unfinished job has other options
   */
  addShardDir(folder: string, options: Pick<JobOptions, 'replace'>): Promise<Job>
  /**
   * Embeds the table's passages again, with the model of new tables, into a table that replaces it. Resumes an unfinished job.
   * @throws conflict if its vectors are already of that model; index_missing, index_invalid
   */
  addReembed(table?: string): Promise<Job>
  /**
   * Reads, validates and plans an uploaded table. An interrupted or rejected upload leaves nothing behind, except that one with too many
   * invalid lines is kept as a failed job, for its report.
   */
  addUpload(upload: Upload): Promise<Job>
  /**
   * Stores the uploaded files, archives expanded. A single table is planned while it is received, as in `addUpload`. An interrupted or
   * rejected upload leaves nothing behind.
   * @throws payload_too_large, corpus_invalid for a damaged archive, invalid_request without a file
   */
  addFiles(upload: FilesUpload): Promise<Job>
}

/** Bulk indexing: a job queue on disk. One job runs at a time, across all processes of an index. */
export interface Jobs extends Orders {
  /** All jobs, oldest first. */
  list(): Promise<Job[]>
  /** @throws not_found */
  get(id: string): Promise<Job>
  /** True for an unfinished job whose process has ended, so that nothing runs it. */
  isAbandoned(id: string): Promise<boolean>
  /** Cancels a job, in whichever process it runs. Passages committed to a live table stay. @throws conflict for a finished job */
  cancel(id: string): Promise<Job>
  /** Queues a stopped or interrupted job again. @throws conflict for a finished job */
  resume(id: string): Promise<Job>
  /** Replaced tables that have not been removed yet. */
  replacedTables(): Promise<readonly ReplacedTable[]>
  /** Path of the report of rejected lines (JSON lines). The file is missing if none was rejected. */
  reportPath(id: string): Promise<string>
  /** Resolves when the job has ended, in whichever process it runs. */
  wait(id: string, onProgress?: (job: Job) => void, signal?: AbortSignal): Promise<Job>
  /** Resumes jobs left unfinished by earlier processes. */
  start(): Promise<void>
  /** Stops after the running batch; unfinished jobs resume at the next start. */
  close(): Promise<void>
}
