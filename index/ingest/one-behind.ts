/** Maps values with a prefetch of one: the next is computed while the last one is used. */
export async function* prefetchOne<T, R>(values: Iterable<T>, work: (value: T) => Promise<R>): AsyncGenerator<R> {
  let running: Promise<R> | undefined
  const start = (value: T): Promise<R> => {
    const promise = work(value)
    // Its error is thrown where it is awaited.
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

/** Runs the second half of a task in the background of the next task: one at a time, in order. */
export class WriteBehind {
  #running: Promise<void> = Promise.resolve()

  /**
   * Waits for the previous background half, then runs `begin`. Resolves when `begin` has, and leaves the returned half running.
   * @throws errors of the previous task or of `begin`
   */
  async next(begin: () => Promise<() => Promise<void>>): Promise<void> {
    await this.#running
    const rest = await begin()
    this.#running = rest()
    // Its error is thrown where it is awaited.
    this.#running.catch(() => undefined)
  }

  /** Resolves when nothing is running. @throws the error of the last task */
  ended(): Promise<void> {
    return this.#running
  }
}
