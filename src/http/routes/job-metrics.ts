import { Gauge, type Registry } from 'prom-client'
import type { Jobs } from '../../jobs/jobs.ts'
import { isSettled, JOB_STATES, type Job } from '../../jobs/schema.ts'

const STEPS = ['accepted', 'embedded', 'skipped', 'committed'] as const

/** Index jobs in Prometheus' format: how many in each state, and how far those that have not ended have come. */
export function registerJobMetrics(registry: Registry, jobs: Pick<Jobs, 'list'>): void {
  const gauge = (name: string, help: string, label: string, values: (all: readonly Job[]) => Iterable<readonly [string, number]>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      async collect() {
        for (const [value, count] of values(await jobs.list())) this.set({ [label]: value }, count)
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

function total(all: readonly Job[], counter: keyof Job['counters']): number {
  return all.filter((job) => !isSettled(job.state)).reduce((sum, { counters }) => sum + counters[counter], 0)
}
