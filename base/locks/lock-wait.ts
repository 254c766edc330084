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

export class LockWaitReporter {
  readonly #location: string
  readonly #since = performance.now()
  #reported = false

  constructor(location: string) {
    this.#location = location
  }

  /** Call repeatedly with the tag of the holder. */
  report(holder: string): void {
    if (this.#reported || performance.now() - this.#since < REPORT_AFTER_MS) return
    this.#reported = true
    waits.publish({ location: this.#location, holder } satisfies LockWait)
  }
}
