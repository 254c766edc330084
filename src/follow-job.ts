import { CodedError } from '../base/errors.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { Job } from './jobs/schema.ts'
import type { Progress, StartProgress } from './progress.ts'

/**
 * Shows a job's progress until it has ended.
 * @throws corpus_invalid, inference_failed or conflict with the job's own message if it did not succeed
 */
export async function followJob(jobs: Jobs, id: string, startProgress: StartProgress, signal?: AbortSignal): Promise<Job> {
  let phase: Job['state'] | undefined
  let progress: Progress | undefined
  const show = ({ state, counters, source }: Job): void => {
    if (state !== phase) {
      progress?.stop()
      progress = state === 'indexing' ? startProgress(`Indexing ${source.name}`, 'passages') : undefined
      phase = state
    }
    progress?.update(counters.embedded + counters.skipped, counters.accepted)
  }
  try {
    const job = await jobs.wait(id, show, signal)
    if (job.state === 'done') return job
    throw new CodedError(
      job.state === 'failed' ? 'corpus_invalid' : 'conflict',
      `The job ${id} is ${job.state}: ${job.error?.message ?? 'it was cancelled'}`,
    )
  } finally {
    progress?.stop()
  }
}
