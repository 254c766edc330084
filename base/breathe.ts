import { setImmediate } from 'node:timers/promises'

/**
 * For long loops in a process that serves: returns a function to be called in every round, which gives a promise to await
 * when the loop has held the event loop for `ms` milliseconds, and nothing otherwise.
 */
export function breather(ms = 10): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < ms) return undefined
    return setImmediate().then(() => {
      since = performance.now()
    })
  }
}
