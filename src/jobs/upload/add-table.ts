import { CodedError, messageOf } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import type { ReadLimits } from '../../../index/read/contract.ts'
import { readPassages } from '../../../index/read/read.ts'
import { toJobError } from '../run/failure.ts'
import { limitBytes } from '../limit-bytes.ts'
import { corpusReadOptions, ReadingNotes } from '../reading.ts'
import { rejectedShare, type Job } from '../schema.ts'
import type { AddFilesParts } from './add-files.ts'

export interface AddTableParts extends Omit<AddFilesParts, 'newJob'> {
  readonly newJob: (id: string) => Job
  /** File name, if the client sent one. */
  readonly name: string | undefined
  readonly limits: Partial<ReadLimits> | undefined
  /** Passages per commit. */
  readonly shardRows: number | undefined
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
}

/**
 * Plans a table while it is received, and queues its job. An interrupted or rejected upload leaves nothing behind, except that one with
 * too many invalid lines is kept as a failed job, for its report.
 */
export async function addTable(
  bytes: AsyncIterable<Buffer>,
  { store, maxBytes, newJob, order, name, limits, shardRows, signal }: AddTableParts,
): Promise<Job> {
  const id = store.newId()
  let job = newJob(id)
  const { options } = job
  const lease = await store.lease(id)
  const notes = new ReadingNotes()
  try {
    const items = readPassages(limitBytes(bytes, maxBytes), corpusReadOptions(options, name, limits))
    const onProgress = (counts: { read: number; rejected: number }): void => {
      job = { ...job, counters: { ...job.counters, ...counts } }
    }
    const plan = await planCorpus(notes.of(items), {
      folder: store.folder(id),
      maxRejectedShare: rejectedShare(options),
      signal,
      onProgress,
      ...(shardRows && { shardRows }),
    })
    job = {
      ...job,
      counters: { ...job.counters, read: plan.read, rejected: plan.rejected, accepted: plan.accepted },
      recent_rejects: notes.rejects,
      warnings: notes.warnings,
    }
    await order(job, lease)
    return job
  } catch (error) {
    if (toJobError(error).code === 'corpus_invalid' && job.counters.rejected > 0) {
      await store.dropShards(id)
      await store.save({
        ...job,
        state: 'failed',
        recent_rejects: notes.rejects,
        error: toJobError(error),
        finished_at: new Date().toISOString(),
      })
      await lease?.release()
      throw new CodedError('corpus_invalid', `${messageOf(error)} The report: GET /v1/admin/index-jobs/${id}/report.`, {
        field: 'body',
        cause: error,
      })
    }
    await store.remove(id)
    await lease?.release()
    throw failureOf(error) ?? error
  }
}
