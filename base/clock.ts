/** A jump of the clock is discounted for so long: any file or value that matters has been touched again by then. */
const SETTLE_MS = 10 * 60_000
/** Smaller differences are corrections of the clock's rate. */
const LEAST_JUMP_MS = 1_000

/** Wall time at the start of the monotonic clock: now, and before the clock was last set. */
let offset = Date.now() - performance.now()
let before = offset
let setAt = -Infinity

/** Milliseconds by which the wall clock was set forward in the last ten minutes, as far as this process has seen. */
export function forwardJump(): number {
  const seen = Date.now() - performance.now()
  if (Math.abs(seen - offset) >= LEAST_JUMP_MS) setAt = performance.now()
  offset = seen
  if (performance.now() - setAt > SETTLE_MS) before = offset
  return Math.max(0, offset - before)
}

/**
 * Milliseconds since a time of the wall clock. A clock that is set forward makes nothing look old, so that nothing in use is taken for
 * abandoned; one that is set back makes it look younger.
 */
export function ageOf(time: number): number {
  return Date.now() - forwardJump() - time
}
