import { readFileSync } from 'node:fs'
import { performance, PerformanceObserver } from 'node:perf_hooks'
import { quantile } from '../measure.ts'

/** A pause of the event loop. */
interface Pause {
  readonly ms: number
  /** Part of it in which the main thread was runnable without a core. */
  readonly waited: number
}

/** Milliseconds that this process's main thread has waited for a core, as counted by Linux. */
function waitedMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
}

/** Measures pauses of the event loop, and their share of waiting for a core. */
export class Pauses {
  readonly #timer: NodeJS.Timeout
  readonly #collections: PerformanceObserver
  #pauses: Pause[] = []
  #collected = 0
  #last = performance.now()
  #waited = waitedMs()

  constructor() {
    this.#timer = setInterval(() => {
      const [now, waited] = [performance.now(), waitedMs()]
      this.#pauses.push({ ms: now - this.#last, waited: waited - this.#waited })
      this.#begin(waited)
    }, 1)
    this.#collections = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) this.#collected = Math.max(this.#collected, duration)
    })
    this.#collections.observe({ entryTypes: ['gc'] })
  }

  /** Milliseconds since the last call: the longest pause, and the longest without waiting for a core. */
  take(): { readonly max: number; readonly own: number; readonly p99: number; readonly collection: number } {
    const all = this.#pauses
    const collection = this.#collected
    this.#pauses = []
    this.#collected = 0
    const longest = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), 0)
    const times = all.map(({ ms }) => ms)
    const own = longest(all.map(({ ms, waited }) => ms - waited))
    const seen = { max: longest(times), own, p99: quantile(times, 0.99), collection }
    // Sorting hundreds of thousands of numbers is a pause of the benchmark itself.
    this.#begin(waitedMs())
    return seen
  }

  #begin(waited: number): void {
    this.#last = performance.now()
    this.#waited = waited
  }

  close(): void {
    clearInterval(this.#timer)
    this.#collections.disconnect()
  }
}
