import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Lock } from '../../../base/locks/lock.ts'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import type { ReadLimits } from '../../../index/read/contract.ts'
import { readPassages } from '../../../index/read/read.ts'
import { toJobError } from '../run/record.ts'
import { corpusReadOptions, ReadingNotes } from '../reading.ts'
import { rejectedShare, type Job } from '../schema.ts'
import { limitBytes } from './budget.ts'
import { receive, type AddFilesParts } from './take.ts'

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
