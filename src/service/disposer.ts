/** Resources that were started and must be closed, also if a later start fails. */
export interface Disposer {
  /** Registers a function that closes a started resource. */
  add(close: () => unknown): void
  /**
   * Closes all resources once, in reverse order of their start. An error does not prevent closing the others.
   * @throws the first error, after all have been closed
   */
  close(): Promise<void>
}

function createDisposer(): Disposer {
  const closers: (() => unknown)[] = []
  const closeAll = async (): Promise<void> => {
    const errors: unknown[] = []
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
  let closed: Promise<void> | undefined
  return { add: (close) => void closers.push(close), close: () => (closed ??= closeAll()) }
}

/**
 * Starts a whole of several parts. If one fails to start, the parts started before it are closed and its error is thrown.
 * @param start registers every part in the disposer as soon as it is started
 */
export async function withDisposer<Whole>(start: (disposer: Disposer) => Promise<Whole>): Promise<Whole> {
  const disposer = createDisposer()
  try {
    return await start(disposer)
  } catch (error) {
    // The first error is the cause; one of closing would hide it.
    await disposer.close().catch(() => undefined)
    throw error
  }
}
