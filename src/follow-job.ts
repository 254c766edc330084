import { CodedError } from '../base/errors.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { Job } from './jobs/schema.ts'
import type { Progress, StartProgress } from './progress.ts'

/**
 * Shows a job's progress until it has ended.
 * @throws corpus_invalid or conflict with the job's own message if it did not succeed; the signal's reason once aborted
 */
export async function followJob(jobs: Jobs, id: string, startProgress: StartProgress, signal?: AbortSignal): Promise<Job> {
  let phase: Job['state'] | undefined
  let progress: Progress | undefined
  let since = 0
  const show = ({ state, counters, source }: Job): void => {
    if (state !== phase) {
      progress?.stop()
      progress = begin(startProgress, state, source.name)
      since = performance.now()
      phase = state
    }
    if (state === 'planning') progress?.update(counters.read, 0)
    else if (state === 'verifying') progress?.update(Math.round((performance.now() - since) / 1000), 0)
    else progress?.update(counters.embedded + counters.skipped, counters.accepted)
  }
  try {
    const job = await jobs.wait(id, show, signal)
    if (job.state === 'done') return job
    throw unfinished(job)
  } finally {
    progress?.stop()
  }
}

/** What a job that did not succeed ends a command with. */
function unfinished({ id, source, state, error }: Job): CodedError {
  const ended = state === 'failed' ? 'has failed' : state === 'stopped' ? 'has stopped' : 'was cancelled'
  const why = error === null ? '.' : `: ${error.message}`
  return new CodedError(state === 'failed' ? 'corpus_invalid' : 'conflict', `The job ${id} (${source.name}) ${ended}${why}`)
}

/** The display of a phase that something can be said of. */
function begin(startProgress: StartProgress, state: Job['state'], name: string): Progress | undefined {
  if (state === 'planning') return startProgress(`Reading ${name}`, 'lines')
  if (state === 'indexing') return startProgress(`Indexing ${name}`, 'passages')
  return state === 'verifying' ? startProgress(`Verifying and indexing the table of ${name}`, 'seconds') : undefined
}
