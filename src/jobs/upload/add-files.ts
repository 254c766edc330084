import { CodedError } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import { jobFiles } from '../../../index/ingest/plan/job-files.ts'
import type { Job } from '../schema.ts'
import type { JobStore } from '../store.ts'
import { FileSpool } from './spool.ts'
import { takeFiles, type UploadedFile } from './take.ts'

export interface AddFilesParts {
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
export async function receive(
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
