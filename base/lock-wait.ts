import { channel } from 'node:diagnostics_channel'

/** A wait that is longer is told of. */
const TOLD_AFTER_MS = 3000

/** Somebody waits for a lock, and people may wonder why nothing happens. */
export interface LockWait {
  /** What is locked: a folder, or an address in an object store. */
  readonly place: string
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

/** One wait, which is told of once. */
export class Waiting {
  readonly #place: string
  readonly #since = performance.now()
  #told = false

  constructor(place: string) {
    this.#place = place
  }

  /** To be called now and then, with whom it waits for. */
  on(holder: string): void {
    if (this.#told || performance.now() - this.#since < TOLD_AFTER_MS) return
    this.#told = true
    waits.publish({ place: this.#place, holder } satisfies LockWait)
  }
}
