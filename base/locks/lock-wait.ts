import { channel } from 'node:diagnostics_channel'

const REPORT_AFTER_MS = 3000

/** A wait for a lock, reported so that users see why nothing happens. */
export interface LockWait {
  /** Location of the lock: a folder, or an address in an object store. */
  readonly location: string
  /** Process tag of the holder (see `processTag`). */
  readonly holder: string
}

const waits = channel('cepe-qa.lock-wait')

export function onLockWait(listener: (wait: LockWait) => void): void {
  waits.subscribe((message) => {
    listener(message as LockWait)
  })
}

/** Begins a wait for a lock. @returns a function to call repeatedly with the tag of the holder */
export function lockWaitReporter(location: string): (holder: string) => void {
  const since = performance.now()
  let reported = false
  return (holder) => {
    if (reported || performance.now() - since < REPORT_AFTER_MS) return
    reported = true
    waits.publish({ location, holder } satisfies LockWait)
  }
}
