/** Maps values with a prefetch of one: the next is computed while the last one is used. */
export async function* prefetchOne<T, R>(values: Iterable<T>, work: (value: T) => Promise<R>): AsyncGenerator<R> {
  let running: Promise<R> | undefined
  const start = (value: T): Promise<R> => {
    const promise = work(value)
    // Its error is thrown where it is awaited, not before.
    promise.catch(() => undefined)
    return promise
  }
  try {
    for (const value of values) {
      const done = running
      if (done === undefined) {
        running = start(value)
        continue
      }
      const result = await done
      running = start(value)
      yield result
    }
    const last = running
    running = undefined
    if (last !== undefined) yield await last
  } finally {
    await running?.catch(() => undefined)
  }
}

/** Runs the end of a piece of work in the background of the next piece: one at a time, in order. */
export class WriteBehind {
  #running: Promise<void> = Promise.resolve()

  /**
   * Once what was given last has ended, begins with the next: returns when `begin` has, and leaves the rest, which it gives, running.
   * @throws what the last one or `begin` threw
   */
  async next(begin: () => Promise<() => Promise<void>>): Promise<void> {
    await this.#running
    const rest = await begin()
    this.#running = rest()
    // Its error is thrown where it is awaited, not before.
    this.#running.catch(() => undefined)
  }

  /** Returns when nothing is under way. @throws what the last one threw */
  ended(): Promise<void> {
    return this.#running
  }
}
