import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../log.ts'
import type { Child, Run } from './child-process.ts'
import type { PoolSettings } from './contract.ts'
import type { PendingTask } from './pending-task.ts'
import type { Lane } from './queue.ts'

interface Running {
  readonly task: PendingTask
  readonly run: Run
  /** Expected milliseconds, from earlier runs. */
  readonly expectedMs: number
}

/** Factor of the expected duration of its runs that a main thread may be unresponsive before its process is killed. */
const STUCK_FACTOR = 20
/** The same factor before it gets no further runs, and before it is killed if no caller waits. */
const SUSPECT_FACTOR = 3
/** Share of the heartbeat without a response of any thread after which a process gets no further runs, and is killed if no caller waits. */
const STOPPED_PART = 0.2
const PINGS_PER_HEARTBEAT = 10

interface Supervision extends Pick<PoolSettings, 'backoffMs' | 'heartbeatMs'> {
  readonly role: string
  readonly log: Log
  readonly closing: AbortSignal
  readonly start: () => Promise<Child>
  readonly onServing: () => void
  readonly onEnded: () => void
  /** A process crashed or did not start; it is started again after `waitMs`. */
  readonly onFailed: (slot: Slot, error: CodedError, waitMs: number) => void
}

/** The place of one process, which is started again whenever it ends. */
export class Slot {
  child: Child | undefined
  /** At most one run per lane. */
  readonly running = new Map<Lane, Running>()
  /** Crashes since the last finished request. */
  failures = 0
  /** Killed because a run exceeded its limit, which is no failure of the process. */
  overran = false
  /** Disruptions of ended processes. */
  #disruptions = 0

  constructor(private readonly supervision: Supervision) {}

  get isAlive(): boolean {
    return this.child?.alive === true
  }

  /** True if the process is unresponsive: it gets no tasks. */
  get isSilent(): boolean {
    return this.#isStopped(STOPPED_PART * this.supervision.heartbeatMs) || this.#isStuck(SUSPECT_FACTOR)
  }

  /** Increases whenever the slot's process stops or resumes responding, ends or is replaced: durations across that are meaningless. */
  get disruptions(): number {
    return this.#disruptions + (this.child?.vitals.pauses ?? 0)
  }

  /** Keeps the slot filled until the pool closes. */
  async supervise(first?: Child): Promise<void> {
    const { role, start, closing, onServing, onEnded } = this.supervision
    let child = first
    while (!closing.aborted) {
      try {
        child ??= await start()
      } catch (error) {
        if (closing.aborted) return
        await this.#fail(error instanceof CodedError ? error : new CodedError('inference_failed', messageOf(error), { cause: error }))
        continue
      }
      this.child = child
      this.#disruptions++
      const heartbeat = this.#listen(child)
      onServing()
      const how = await child.exited
      clearInterval(heartbeat)
      this.#disruptions += child.vitals.pauses + 1
      this.child = child = undefined
      if (closing.aborted) return
      onEnded()
      if (!this.overran) await this.#fail(new CodedError('not_ready', `The ${role} process ended (${how}).`))
      this.overran = false
    }
  }

  /** Pings the process, and kills it if it hangs. */
  #listen(child: Child): NodeJS.Timeout {
    const { role, heartbeatMs, log, onServing } = this.supervision
    const check = (): void => {
      // After it responds again, it takes waiting tasks.
      if (!this.#isHung()) return onServing()
      const silentMs = Math.max(child.vitals.silentMs, child.vitals.stoppedMs)
      log('error', `Killing ${role} process ${child.pid}: it has not answered for ${Math.round(silentMs)} ms.`)
      child.kill()
    }
    const beat = (): void => {
      child.ping()
      // After pending messages: if this process itself was stopped, they are still unread.
      setImmediate(check)
    }
    return setInterval(beat, heartbeatMs / PINGS_PER_HEARTBEAT).unref()
  }

  /** Counts a crash and waits before the next start, with exponential backoff. */
  async #fail(error: CodedError): Promise<void> {
    const { backoffMs, closing, log, onFailed } = this.supervision
    this.failures++
    const waitMs = Math.min(backoffMs.longest, backoffMs.first * 2 ** (this.failures - 1))
    log('error', `${error.message} Starting another in ${waitMs} ms.`)
    onFailed(this, error, waitMs)
    await delay(waitMs, undefined, { signal: closing }).catch(() => undefined)
  }

  #isHung(): boolean {
    const { heartbeatMs } = this.supervision
    const callers = [...this.running.values()]
    const isAwaited = callers.some(({ task }) => !task.isSettled)
    const isLeft = callers.length > 0 && !isAwaited
    return this.#isStopped(isLeft ? STOPPED_PART * heartbeatMs : heartbeatMs) || this.#isStuck(isAwaited ? STUCK_FACTOR : SUSPECT_FACTOR)
  }

  /** No thread of the process responds, which no run explains. */
  #isStopped(boundMs: number): boolean {
    return this.child !== undefined && this.child.vitals.stoppedMs > boundMs
  }

  /**
   * The main thread is unresponsive: while idle, or for longer than several expected runs without using the processor. Before any run has
   * finished, only the limit of runs applies.
   */
  #isStuck(patience: number): boolean {
    if (this.child === undefined) return false
    const { vitals } = this.child
    const expected = [...this.running.values()].reduce((sum, { expectedMs }) => sum + expectedMs, 0)
    if (this.running.size > 0 && (expected === 0 || vitals.isComputing)) return false
    return vitals.silentMs > Math.max(this.supervision.heartbeatMs, patience * expected)
  }
}
