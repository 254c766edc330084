import { setImmediate } from 'node:timers/promises'

/**
 * For long loops in a serving process: returns a function to call in every iteration. It returns a promise to await if the loop
 * has blocked the event loop for `ms` milliseconds, and undefined otherwise.
 */
export function eventLoopYielder(ms = 10): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < ms) return undefined
    return setImmediate().then(() => {
      since = performance.now()
    })
  }
}
