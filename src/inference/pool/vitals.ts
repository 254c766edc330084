import { Socket } from 'node:net'

/** A process that answers later than this stood still: its main thread may compute, but its pulse has a thread of its own. */
const PAUSE_MS = 500
/** Processor time, as a share of one core, from which on a process computes: what pings need is far below. */
const COMPUTING = 0.01

/**
 * Signs of life of a process. It is pinged twice: its main thread, which a graph may keep from answering for as long as the
 * graph runs, and by a pipe a thread of its own, the pulse, which is silent only where the whole process stands still.
 */
export class Vitals {
  readonly #pipe: Socket | undefined
  #mainPingedAt: number | undefined
  #pulsePingedAt: number | undefined
  #hasPulse = false
  #usage = { at: 0, cpuMs: 0, share: 0 }
  #pauses = 0

  /** @param pipe to the process's pulse; a process that never answers there is known by its main thread alone */
  constructor(pipe: unknown) {
    this.#pipe = pipe instanceof Socket ? pipe : undefined
    this.#pipe?.setEncoding('utf8')
    this.#pipe?.on('data', (said: string) => this.#hearPulse(Number(said.trimEnd().split('\n').at(-1))))
    this.#pipe?.on('close', () => (this.#hasPulse = false))
    // The process ends; 'exit' tells.
    this.#pipe?.on('error', () => undefined)
  }

  /** Milliseconds that a ping has been waiting for the main thread; 0 where none waits. */
  get mainSilentMs(): number {
    return waited(this.#mainPingedAt)
  }

  /** Milliseconds that neither thread has answered, which no graph explains; 0 where the process has no pulse. */
  get stoppedMs(): number {
    return this.#hasPulse ? Math.min(this.mainSilentMs, waited(this.#pulsePingedAt)) : 0
  }

  /** Where both threads answered last, the process was using the processor. */
  get isComputing(): boolean {
    return this.#hasPulse && this.#usage.share > COMPUTING
  }

  /** Grows at the beginning and at the end of every time that the process stood still. */
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

  /** Any message came from the main thread. */
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
