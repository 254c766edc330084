import { setImmediate } from 'node:timers/promises'

/** For long loops in a serving process: tells in every iteration whether the loop has blocked the event loop for `ms` milliseconds. */
export function eventLoopTurn(ms = 10) {
  let since = performance.now()
  return {
    isOver: (): boolean => performance.now() - since >= ms,
    /** To be awaited once it is: others have their turn. */
    next: async (): Promise<void> => {
      await setImmediate()
      since = performance.now()
    },
  }
}
