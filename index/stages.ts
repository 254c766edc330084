/** Stages of a job after its passages are written, in order; a job may skip some. */
export const STAGES = [
  'compacting',
  'reading back',
  'indexing words',
  'indexing ids and filters',
  'indexing vectors',
  'measuring recall',
  'weighing searches',
  'taking over changes',
] as const
type StageName = (typeof STAGES)[number]

export interface Stage {
  readonly name: StageName
  /** 0 to 1. */
  readonly share: number
}

/** Microseconds per row of the stages that are one LanceDB call, measured at 200,000 passages of 100 words and 768 numbers. */
const COST = {
  'indexing words': 23,
  'indexing ids and filters': 0.5,
  'indexing vectors': 17,
  compacting: 5,
  'taking over changes': 0.5,
} as const
/** Interval between reports of an estimated stage. */
const REPORT_MS = 500
/** Share up to which an estimate is used linearly; beyond it progress slows down. */
const BELIEVED = 0.9

/** Reports progress of stages: by counts where available, else by expected time. */
export class Stages {
  /** Ratio of actual to expected time of the stages that have ended. */
  #pace = 1

  constructor(private readonly onStage: (stage: Stage) => void = () => undefined) {}

  /** Begins a counted stage. @returns a function to report its progress */
  counted(name: StageName): (done: number, total: number) => void {
    this.onStage({ name, share: 0 })
    return (done, total) => this.onStage({ name, share: total > 0 ? Math.min(1, done / total) : 1 })
  }

  /** Runs a stage without counts on this many rows. */
  async estimated<Result>(name: keyof typeof COST, rows: number, work: () => Promise<Result>): Promise<Result> {
    const known = (rows * COST[name]) / 1000
    const started = performance.now()
    this.onStage({ name, share: 0 })
    const timer = setInterval(() => {
      this.onStage({ name, share: expectedShare(performance.now() - started, known * this.#pace) })
    }, REPORT_MS).unref()
    try {
      const result = await work()
      this.onStage({ name, share: 1 })
      const took = performance.now() - started
      // A stage that ends at once gives no information on the machine's speed.
      if (took >= REPORT_MS && known > 0) this.#pace = took / known
      return result
    } finally {
      clearInterval(timer)
    }
  }
}

/** Estimated share of work expected to take `expected` after `elapsed`: monotonic, never 1. */
function expectedShare(elapsed: number, expected: number): number {
  const share = expected > 0 ? elapsed / expected : Infinity
  return share <= BELIEVED ? share : 1 - ((1 - BELIEVED) * BELIEVED) / share
}
