import { Gauge, type Registry } from 'prom-client'
import { messageOf } from '../../../base/errors.ts'
import type { Jobs } from '../../jobs/contract.ts'
import { isSettled, JOB_STATES, type Job } from '../../jobs/schema.ts'

const STEPS = ['accepted', 'embedded', 'skipped', 'committed'] as const

/**
 * Index jobs in Prometheus format: number per state, and progress of unfinished ones. If they cannot be read, they are missing from the
 * scrape.
 * @param onTrouble called once with the reason, until they can be read again
 */
export function registerJobMetrics(registry: Registry, jobs: Pick<Jobs, 'list'>, onTrouble: (message: string) => void): void {
  const list = listedOnce(jobs, onTrouble)
  const gauge = (name: string, help: string, label: string, values: (all: readonly Job[]) => Iterable<readonly [string, number]>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        const all = await list()
        this.reset()
        if (all !== undefined) for (const [value, count] of values(all)) this.set({ [label]: value }, count)
      },
    })
  gauge('cepe_index_jobs', 'Index jobs by state; stopped ones wait for a resume.', 'state', (all) =>
    JOB_STATES.map((state) => [state, all.filter((job) => job.state === state).length]),
  )
  gauge(
    'cepe_index_job_passages',
    'Passages of jobs that have not ended: to be indexed, embedded, known already, durably in the table.',
    'step',
    (all) => STEPS.map((step) => [step, total(all, step)]),
  )
  gauge('cepe_index_job_lines', 'Lines of the corpora of jobs that have not ended.', 'outcome', (all) =>
    (['read', 'rejected'] as const).map((outcome) => [outcome, total(all, outcome)]),
  )
}

/** Reads the jobs from disk once for all gauges of a scrape; undefined on failure. */
function listedOnce(jobs: Pick<Jobs, 'list'>, onTrouble: (message: string) => void): () => Promise<readonly Job[] | undefined> {
  let looking: Promise<readonly Job[] | undefined> | undefined
  let troubled = false
  const look = async (): Promise<readonly Job[] | undefined> => {
    try {
      const all = await jobs.list()
      troubled = false
      return all
    } catch (error) {
      if (!troubled) onTrouble(`Metrics of index jobs are missing: ${messageOf(error)}`)
      troubled = true
      return undefined
    }
  }
  return () =>
    (looking ??= look().finally(() => {
      looking = undefined
    }))
}

function total(all: readonly Job[], counter: keyof Job['counters']): number {
  return all.filter((job) => !isSettled(job.state)).reduce((sum, { counters }) => sum + counters[counter], 0)
}
