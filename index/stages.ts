/** What a job does with a table once its passages are written, in this order; not every job does all of it. */
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
export type StageName = (typeof STAGES)[number]

/** How far a stage has come. */
export interface Stage {
  readonly name: StageName
  /** 0 to 1. */
  readonly share: number
}

/** Microseconds a row of the stages whose work LanceDB does in one call, measured at 200,000 passages of 100 words and 768 numbers. */
const COST = {
  'indexing words': 23,
  'indexing ids and filters': 0.5,
  'indexing vectors': 17,
  compacting: 5,
  'taking over changes': 0.5,
} as const
/** Between two reports of a stage that does not count. */
const REPORT_MS = 500
/** Share up to which an estimate is believed: from there on a stage that takes longer comes ever more slowly to its end. */
const BELIEVED = 0.9

/** Share of work that was expected to take so long and has taken `elapsed` until now: it grows with time and never reaches 1. */
export function expectedShare(elapsed: number, expected: number): number {
  const share = expected > 0 ? elapsed / expected : Infinity
  return share <= BELIEVED ? share : 1 - ((1 - BELIEVED) * BELIEVED) / share
}

/** Tells of stages: by counts where the work counts, else by the time that it is expected to take. */
export class Stages {
  readonly #onStage: (stage: Stage) => void
  /** Time that stages took beside what was expected, of those that have ended. */
  #pace = 1

  constructor(onStage: (stage: Stage) => void = () => undefined) {
    this.#onStage = onStage
  }

  /** Begins a stage that counts. @returns what is told of its progress */
  counted(name: StageName): (done: number, total: number) => void {
    this.#onStage({ name, share: 0 })
    return (done, total) => this.#onStage({ name, share: total > 0 ? Math.min(1, done / total) : 1 })
  }

  /** Does work of a stage that does not count, on so many rows. */
  async estimated<Result>(name: keyof typeof COST, rows: number, work: () => Promise<Result>): Promise<Result> {
    const known = (rows * COST[name]) / 1000
    const started = performance.now()
    this.#onStage({ name, share: 0 })
    const timer = setInterval(() => {
      this.#onStage({ name, share: expectedShare(performance.now() - started, known * this.#pace) })
    }, REPORT_MS).unref()
    try {
      const result = await work()
      this.#onStage({ name, share: 1 })
      const took = performance.now() - started
      // What is over in no time tells nothing of the machine.
      if (took >= REPORT_MS && known > 0) this.#pace = took / known
      return result
    } finally {
      clearInterval(timer)
    }
  }
}
