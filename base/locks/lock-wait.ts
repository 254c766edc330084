import { channel } from 'node:diagnostics_channel'

/** A longer wait is reported. */
const REPORT_AFTER_MS = 3000

/** A process waits for a lock: reported, so that users see why nothing happens. */
export interface LockWait {
  /** What is locked: a folder, or an address in an object store. */
  readonly location: string
  /** The tag of the process that is waited for (see `processTag`). */
  readonly holder: string
}

const waits = channel('cepe-qa.lock-wait')

/** Listens to all waits of this process, whoever waits. */
export function onLockWait(listener: (wait: LockWait) => void): void {
  waits.subscribe((message) => {
    listener(message as LockWait)
  })
}

/** One wait, reported once. */
export class LockWaitReporter {
  readonly #location: string
  readonly #since = performance.now()
  #reported = false

  constructor(location: string) {
    this.#location = location
  }

  /** To be called from time to time with the tag of the holder. */
  report(holder: string): void {
    if (this.#reported || performance.now() - this.#since < REPORT_AFTER_MS) return
    this.#reported = true
    waits.publish({ location: this.#location, holder } satisfies LockWait)
  }
}
