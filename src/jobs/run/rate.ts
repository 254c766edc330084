const WINDOW_MS = 30_000

/** Rate over the last half minute, from cumulative counts. */
export class Rate {
  #samples: { readonly at: number; readonly count: number }[] = []

  /** @param at milliseconds on a monotonic clock. */
  add(count: number, at: number): void {
    const last = this.#samples.at(-1)
    if (last !== undefined && at - last.at < 250) return
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= WINDOW_MS), { at, count }]
  }

  /** Per second; null until there is something to go by. */
  perSecond(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.at === first.at) return null
    return Math.max(0, ((last.count - first.count) * 1000) / (last.at - first.at))
  }
}
