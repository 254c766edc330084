/** Maps values one ahead of the consumer: the next is being worked on while the last one is used. */
export async function* oneAhead<T, R>(values: Iterable<T>, work: (value: T) => Promise<R>): AsyncGenerator<R> {
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
