import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../log.ts'
import type { Child, Run } from './child-process.ts'
import type { PendingTask } from './pending-task.ts'
import type { Lane } from './queue.ts'

export interface Running {
  readonly task: PendingTask
  readonly run: Run
  /** Expected milliseconds, from earlier runs. */
  readonly expectedMs: number
}

/** The slot of one process, which is restarted whenever it ends. */
export interface Slot {
  child?: Child
  /** At most one run per lane. */
  readonly running: Map<Lane, Running>
  /** Crashes since the last finished request. */
  failures: number
  /** Killed because a run exceeded its limit, which is no failure of the process. */
  overran: boolean
  /** Disruptions of ended processes; see {@link disruptionsOf}. */
  disruptions: number
}

/** A slot without a process. */
export function createSlot(): Slot {
  return { running: new Map(), failures: 0, overran: false, disruptions: 0 }
}

/** Factor of the expected duration of its runs that a main thread may be unresponsive before its process is killed. */
const PATIENCE = 20
/** The same factor before it gets no further runs, and before it is killed if no caller waits. */
const SUSPICION = 3
/** Share of the heartbeat without a response of any thread after which a process gets no further runs, and is killed if no caller waits. */
const STOPPED_PART = 0.2
const PINGS_PER_HEARTBEAT = 10

/** True if the process is unresponsive: it gets no tasks. */
export function isSilent(slot: Slot, heartbeatMs: number): boolean {
  return isStopped(slot, STOPPED_PART * heartbeatMs) || isStuck(slot, heartbeatMs, SUSPICION)
}

/** True if the process must be killed. */
export function isHung(slot: Slot, heartbeatMs: number): boolean {
  const callers = [...slot.running.values()]
  const isAwaited = callers.some(({ task }) => !task.isSettled())
  const isLeft = callers.length > 0 && !isAwaited
  return isStopped(slot, isLeft ? STOPPED_PART * heartbeatMs : heartbeatMs) || isStuck(slot, heartbeatMs, isAwaited ? PATIENCE : SUSPICION)
}

/** No thread of the process responds, which no run explains. */
function isStopped({ child }: Slot, boundMs: number): boolean {
  return child !== undefined && child.vitals.stoppedMs > boundMs
}

/**
 * The main thread is unresponsive: while idle, or for longer than several expected runs without using the processor. Before any run has
 * finished, only the limit of runs applies.
 */
function isStuck({ child, running }: Slot, heartbeatMs: number, patience: number): boolean {
  if (child === undefined) return false
  const expected = [...running.values()].reduce((sum, { expectedMs }) => sum + expectedMs, 0)
  if (running.size > 0 && (expected === 0 || child.vitals.isComputing)) return false
  return child.vitals.silentMs > Math.max(heartbeatMs, patience * expected)
}

/**
 * Increases whenever the slot's process stops or resumes responding, ends or is replaced: durations measured across that are meaningless.
 */
export function disruptionsOf({ child, disruptions }: Slot): number {
  return disruptions + (child?.vitals.pauses ?? 0)
}

export interface Supervision {
  readonly role: string
  readonly start: () => Promise<Child>
  readonly closing: AbortSignal
  readonly backoffMs: { readonly first: number; readonly longest: number }
  readonly heartbeatMs: number
  readonly log: Log
  /** A process is ready. */
  readonly onServing: () => void
  /** The slot's process has ended. */
  readonly onEnded: () => void
  /** A process crashed or did not start; it is started again after `waitMs`. */
  readonly onFailed: (slot: Slot, error: CodedError, waitMs: number) => void
}

/** Keeps one slot filled until the pool closes. */
export async function supervise(slot: Slot, supervision: Supervision, first?: Child): Promise<void> {
  const { role, start, closing, onServing, onEnded } = supervision
  let child = first
  while (!closing.aborted) {
    try {
      child ??= await start()
    } catch (error) {
      if (closing.aborted) return
      await fail(slot, supervision, asCodedError(error))
      continue
    }
    slot.child = child
    slot.disruptions++
    const heartbeat = listen(slot, child, supervision)
    onServing()
    const how = await child.exited
    clearInterval(heartbeat)
    slot.disruptions += child.vitals.pauses + 1
    delete slot.child
    child = undefined
    if (closing.aborted) return
    onEnded()
    if (!slot.overran) await fail(slot, supervision, new CodedError('not_ready', `The ${role} process ended (${how}).`))
    slot.overran = false
  }
}

/** Pings the process, and kills it if it hangs. */
function listen(slot: Slot, child: Child, { role, heartbeatMs, log, onServing }: Supervision): NodeJS.Timeout {
  const check = (): void => {
    // After it responds again, it takes waiting tasks.
    if (!isHung(slot, heartbeatMs)) return onServing()
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
async function fail(slot: Slot, { backoffMs, closing, log, onFailed }: Supervision, error: CodedError): Promise<void> {
  slot.failures++
  const waitMs = Math.min(backoffMs.longest, backoffMs.first * 2 ** (slot.failures - 1))
  log('error', `${error.message} Starting another in ${waitMs} ms.`)
  onFailed(slot, error, waitMs)
  await delay(waitMs, undefined, { signal: closing }).catch(() => undefined)
}

function asCodedError(thrown: unknown): CodedError {
  return thrown instanceof CodedError ? thrown : new CodedError('inference_failed', messageOf(thrown), { cause: thrown })
}
