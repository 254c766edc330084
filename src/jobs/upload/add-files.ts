import { CodedError } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import { jobFiles } from '../../../index/ingest/plan/job-files.ts'
import type { Job } from '../schema.ts'
import type { JobStore } from '../store.ts'
import type { UploadedFile } from './contract.ts'
import { FileSpool } from './spool.ts'
import { takeFiles } from './take.ts'

export interface AddFilesParts {
  readonly store: JobStore
  /** Maximum bytes of an upload, archives expanded. */
  readonly maxBytes: number
  readonly newJob: (id: string, name: string) => Job
  readonly order: (job: Job, lease: Lock | undefined) => Promise<void>
}

/** Stores uploaded files in the job's folder and queues the job. An interrupted or rejected upload leaves nothing behind. */
export async function addFiles(
  files: AsyncIterable<UploadedFile> | Iterable<UploadedFile>,
  { store, maxBytes, newJob, order }: AddFilesParts,
): Promise<Job> {
  const id = store.newId()
  // Reject invalid options before receiving anything.
  newJob(id, '')
  const lease = await store.lease(id)
  const names: string[] = []
  const named = async function* (): AsyncGenerator<UploadedFile> {
    for await (const file of files) {
      names.push(file.name)
      yield file
    }
  }
  try {
    const spool = new FileSpool(jobFiles(store.folder(id)).uploads)
    await takeFiles(named(), spool, maxBytes)
    const [first] = names
    if (first === undefined)
      throw new CodedError('invalid_request', 'The form holds no file: send documents, tables, or an archive of them.', { field: 'body' })
    await spool.finish()
    const job = newJob(id, names.length === 1 ? first : `${first} and ${names.length - 1} more`)
    await order(job, lease)
    return job
  } catch (error) {
    await store.remove(id)
    await lease?.release()
    throw failureOf(error) ?? error
  }
}
