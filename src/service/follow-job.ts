import { CodedError } from '../../base/errors.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Job } from '../jobs/record/schema.ts'

/** Shows the progress of a stage. */
export interface Progress {
  /** @param total 0 if unknown */
  update(done: number, total: number, detail?: string): void
  stop(): void
}

export type StartProgress = (title: string, unit: string) => Progress

/** Bytes as whole megabytes, for progress displays. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6)
}

/**
 * Shows a job's progress until it has ended.
 * @throws corpus_invalid or conflict with the job's own message if it did not succeed; the signal's reason once aborted
 */
export async function followJob(jobs: Jobs, id: string, startProgress: StartProgress, signal?: AbortSignal): Promise<Job> {
  let shown: string | undefined
  let progress: Progress | undefined
  const show = (job: Job): void => {
    const { state, counters, stage } = job
    const phase = `${state} ${stage?.name ?? ''}`
    if (phase !== shown) {
      progress?.stop()
      progress = begin(startProgress, job)
      shown = phase
    }
    if (stage) progress?.update(Math.round(stage.share * 100), 100)
    else if (state === 'indexing') progress?.update(counters.embedded + counters.skipped, counters.accepted)
  }
  const job = await jobs.wait(id, show, signal).finally(() => progress?.stop())
  if (job.state === 'done') return job
  throw unfinished(job)
}

function unfinished({ id, source, state, error }: Job): CodedError {
  const ended = state === 'failed' ? 'has failed' : state === 'stopped' ? 'has stopped' : 'was cancelled'
  const why = error === null ? '.' : `: ${error.message}`
  return new CodedError(state === 'failed' ? 'corpus_invalid' : 'conflict', `The job ${id} (${source.name}) ${ended}${why}`)
}

/** Starts the display of a stage that has a description. */
function begin(startProgress: StartProgress, { state, stage, source: { name } }: Job): Progress | undefined {
  if (stage) return startProgress(`${name}: ${stage.name}`, '%')
  return state === 'indexing' ? startProgress(`Indexing ${name}`, 'passages') : undefined
}
