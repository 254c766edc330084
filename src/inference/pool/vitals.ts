import { Socket } from 'node:net'

/** A response later than this means that the whole process was stopped: the pulse has its own thread. */
const PAUSE_MS = 500
/** Processor time, as a share of one core, above which a process counts as computing: pings need far less. */
const COMPUTING = 0.01

/**
 * Health of a process, by two kinds of pings: to its main thread, which a running graph may block, and through a pipe to its pulse thread,
 * which is unresponsive only if the whole process is stopped.
 */
export class Vitals {
  readonly #pipe: Socket | undefined
  #mainPingedAt: number | undefined
  #pulsePingedAt: number | undefined
  #hasPulse = false
  #usage = { at: 0, cpuMs: 0, share: 0 }
  #pauses = 0
  isLoading = false

  /** @param pipe to the process's pulse thread; without responses there, only the main thread counts */
  constructor(pipe: unknown) {
    this.#pipe = pipe instanceof Socket ? pipe : undefined
    this.#pipe?.setEncoding('utf8')
    this.#pipe?.on('data', (said: string) => this.#hearPulse(Number(said.trimEnd().split('\n').at(-1))))
    this.#pipe?.on('close', () => (this.#hasPulse = false))
    // The process is ending, which 'exit' reports.
    this.#pipe?.on('error', () => undefined)
  }

  /** Milliseconds that a ping has been unanswered by the main thread; 0 if none is pending or a graph is loading. A run may block it. */
  get silentMs(): number {
    return this.isLoading ? 0 : waited(this.#mainPingedAt)
  }

  /** Milliseconds without a response of either thread; 0 without a pulse thread. */
  get stoppedMs(): number {
    return this.#hasPulse ? Math.min(waited(this.#mainPingedAt), waited(this.#pulsePingedAt)) : 0
  }

  /** True if the process used the processor at the last responses of both threads. */
  get isComputing(): boolean {
    return this.#hasPulse && this.#usage.share > COMPUTING
  }

  /** Increases at the beginning and at the end of every stop of the process. */
  get pauses(): number {
    return this.#pauses + (this.stoppedMs > PAUSE_MS ? 1 : 0)
  }

  /** @param askMain sends a ping to the main thread */
  ping(askMain: () => void): void {
    if (this.#hasPulse && this.#pulsePingedAt === undefined) {
      this.#pulsePingedAt = performance.now()
      this.#pipe?.write('.')
    }
    if (this.#mainPingedAt !== undefined) return
    this.#mainPingedAt = performance.now()
    askMain()
  }

  hearMain(): void {
    this.#endPause()
    this.#mainPingedAt = undefined
  }

  #hearPulse(cpuMs: number): void {
    this.#endPause()
    this.#hasPulse = true
    this.#pulsePingedAt = undefined
    const at = performance.now()
    this.#usage = { at, cpuMs, share: (cpuMs - this.#usage.cpuMs) / (at - this.#usage.at) }
  }

  #endPause(): void {
    if (this.stoppedMs > PAUSE_MS) this.#pauses += 2
  }
}

function waited(since: number | undefined): number {
  return since === undefined ? 0 : performance.now() - since
}
