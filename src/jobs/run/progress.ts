import type { Job } from '../schema.ts'

const WINDOW_MS = 30_000

/** Rate over the last 30 seconds, from cumulative counts. */
export class Rate {
  #samples: { readonly at: number; readonly count: number }[] = []

  /** @param at milliseconds on a monotonic clock */
  add(count: number, at: number): void {
    const last = this.#samples.at(-1)
    if (last !== undefined && at - last.at < 250) return
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, count }]
  }

  /** Rate per second; null until there are two samples. */
  perSecond(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.at === first.at) return null
    return Math.max(0, ((last.count - first.count) * 1000) / (last.at - first.at))
  }
}

type JobStage = NonNullable<Job['stage']>

/** Estimates the remaining time of a stage from its progress. */
export class StageEta {
  #name: string | undefined
  #since = 0

  /** @param now milliseconds on a monotonic clock. @returns whole seconds; null without progress */
  left({ name, share }: JobStage, now: number): number | null {
    if (name !== this.#name) {
      this.#name = name
      this.#since = now
    }
    const elapsed = now - this.#since
    return share > 0 && elapsed > 0 ? Math.round((elapsed * (1 - share)) / share / 1000) : null
  }
}
