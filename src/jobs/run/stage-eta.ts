import type { Job } from '../schema.ts'

type JobStage = NonNullable<Job['stage']>

/** Time left of stages, by how far they have come since they began. */
export class StageEta {
  #name: string | undefined
  #since = 0

  /** @param now milliseconds on a monotonic clock. @returns whole seconds; null until there is something to go by */
  left({ name, share }: JobStage, now: number): number | null {
    if (name !== this.#name) {
      this.#name = name
      this.#since = now
    }
    const elapsed = now - this.#since
    return share > 0 && elapsed > 0 ? Math.round((elapsed * (1 - share)) / share / 1000) : null
  }
}
