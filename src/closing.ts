/** What was started and has to be closed again, whatever happens to the steps that follow. */
export interface Closing {
  /** Notes how to close something that has been started. */
  add(close: () => unknown): void
  /**
   * Closes everything, the last started first, once. One that cannot be closed does not keep the others open.
   * @throws the first error met, after all have been closed
   */
  close(): Promise<void>
}

function createClosing(): Closing {
  const steps: (() => unknown)[] = []
  const closeAll = async (): Promise<void> => {
    const errors: unknown[] = []
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      try {
        await step()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
  let closed: Promise<void> | undefined
  return { add: (close) => void steps.push(close), close: () => (closed ??= closeAll()) }
}

/**
 * Starts something of several parts. Where a step fails, what was started before it is closed, and its error is passed on.
 * @param start notes every part in `closing` as soon as it is started
 */
export async function startWhole<Whole>(start: (closing: Closing) => Promise<Whole>): Promise<Whole> {
  const closing = createClosing()
  try {
    return await start(closing)
  } catch (error) {
    // The first error is the cause; one of closing would hide it.
    await closing.close().catch(() => undefined)
    throw error
  }
}
