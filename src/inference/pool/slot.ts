import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../log.ts'
import type { Child, Run } from './child-process.ts'
import type { Entry } from './entry.ts'
import type { Lane } from './queue.ts'

export interface Running {
  readonly entry: Entry
  readonly run: Run
  /** Milliseconds that it should take, by the runs before it. */
  readonly expectedMs: number
}

/** The slot of one process, which is restarted whenever it ends. */
export interface Slot {
  child?: Child
  /** One run of each lane at most. */
  readonly running: Map<Lane, Running>
  /** Crashes since the last finished request. */
  failures: number
  /** Killed because a run of it overran its bound, which is no failure of the process. */
  overran: boolean
  /** Of processes that have gone; see {@link disruptionsOf}. */
  disruptions: number
}

/** A slot without a process. */
export function createSlot(): Slot {
  return { running: new Map(), failures: 0, overran: false, disruptions: 0 }
}

/** How many times the time that its runs should take a main thread may be silent before its process is killed: no step is longer than its run. */
const PATIENCE = 20
/** Likewise before it gets no further runs, and before it is killed where the callers of all its runs have their answer or left. */
const SUSPICION = 3
/** A process that does not answer on any thread gets no further runs after this part of a heartbeat, and is killed then if none of its runs is awaited. */
const STOPPED_PART = 0.2
const PINGS_PER_HEARTBEAT = 10

/** True where the process does not answer though it should: nothing is given to it. */
export function isSilent(slot: Slot, heartbeatMs: number): boolean {
  return isStopped(slot, STOPPED_PART * heartbeatMs) || isStuck(slot, heartbeatMs, SUSPICION)
}

/** True where the process has to be killed. */
export function isHung(slot: Slot, heartbeatMs: number): boolean {
  const callers = [...slot.running.values()]
  const isAwaited = callers.some(({ entry }) => !entry.isSettled())
  const isLeft = callers.length > 0 && !isAwaited
  return isStopped(slot, isLeft ? STOPPED_PART * heartbeatMs : heartbeatMs) || isStuck(slot, heartbeatMs, isAwaited ? PATIENCE : SUSPICION)
}

/** No thread of the process answers, which no run explains. */
function isStopped({ child }: Slot, boundMs: number): boolean {
  return child !== undefined && child.stoppedMs > boundMs
}

/**
 * Its main thread does not answer: idle, or longer at one step than several whole runs take, and without computing as far as
 * that is known. Where no run has finished yet, only the bound on runs tells.
 */
function isStuck({ child, running }: Slot, heartbeatMs: number, patience: number): boolean {
  if (child === undefined) return false
  const expected = [...running.values()].reduce((sum, { expectedMs }) => sum + expectedMs, 0)
  if (running.size > 0 && (expected === 0 || child.isComputing)) return false
  return child.silentMs > Math.max(heartbeatMs, patience * expected)
}

/** Grows whenever the slot's process stops, answers again, ends or is replaced: times measured across that say nothing about the work. */
export function disruptionsOf({ child, disruptions }: Slot): number {
  return disruptions + (child?.pauses ?? 0)
}

export interface Supervision {
  readonly role: string
  readonly start: () => Promise<Child>
  readonly closing: AbortSignal
  readonly backoffMs: { readonly first: number; readonly longest: number }
  readonly heartbeatMs: number
  readonly log: Log
  /** A process serves in the slot. */
  readonly onServing: () => void
  /** The slot's process has gone. */
  readonly onEnded: () => void
  /** A process crashed or did not start; the next start comes after `waitMs`. */
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
    slot.disruptions += child.pauses + 1
    delete slot.child
    child = undefined
    if (closing.aborted) return
    onEnded()
    if (!slot.overran) await fail(slot, supervision, new CodedError('not_ready', `The ${role} process ended (${how}).`))
    slot.overran = false
  }
}

/** Pings the process, and kills it where it stays silent. */
function listen(slot: Slot, child: Child, { role, heartbeatMs, log, onServing }: Supervision): NodeJS.Timeout {
  const check = (): void => {
    // One that speaks again takes what has been waiting since.
    if (!isHung(slot, heartbeatMs)) return onServing()
    const silentMs = Math.max(child.silentMs, child.stoppedMs)
    log('error', `Killing ${role} process ${child.pid}: it has not answered for ${Math.round(silentMs)} ms.`)
    child.kill()
  }
  const beat = (): void => {
    child.ping()
    // After the messages that have come in: where this process itself stood still, they lie there unread.
    setImmediate(check)
  }
  return setInterval(beat, heartbeatMs / PINGS_PER_HEARTBEAT).unref()
}

/** Notes a crash and waits before the next start, longer after every further one. */
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
