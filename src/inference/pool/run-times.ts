interface Work {
  readonly kind: string
  /** Relative work, in any unit that its kind uses consistently. */
  readonly cost: number
}

/** Durations of work by its kind, from recently finished work. */
export class RunTimes {
  /** Decaying sums: their ratio is the time per unit of cost. */
  readonly #finished = new Map<string, { ms: number; cost: number; count: number }>()

  /**
   * @param decay weight that earlier work keeps when another of its kind finishes
   * @param least finished work of a kind before its durations are estimated
   */
  constructor(
    private readonly decay: number,
    private readonly least = 1,
  ) {}

  note({ kind, cost }: Work, ms: number): void {
    const before = this.#finished.get(kind) ?? { ms: 0, cost: 0, count: 0 }
    this.#finished.set(kind, { ms: this.decay * before.ms + ms, cost: this.decay * before.cost + cost, count: before.count + 1 })
  }

  /** Expected milliseconds of work, 0 if unknown. */
  expect({ kind, cost }: Work): number {
    const { ms, cost: done, count } = this.#finished.get(kind) ?? { ms: 0, cost: 0, count: 0 }
    return count < this.least ? 0 : (cost * ms) / done
  }
}
