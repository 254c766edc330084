import type { TaskCall, OnText } from '../protocol.ts'
import type { PoolResult } from './contract.ts'
import type { Share } from './queue.ts'

/** setTimeout takes 32-bit milliseconds. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A job as it was brought in. */
export interface Order extends Share {
  readonly job: TaskCall
  readonly since: number
  readonly deadlineAt: number
}

/** A job with its caller. */
export interface Entry extends Order {
  readonly resolve: (result: PoolResult) => void
  readonly reject: (error: unknown) => void
  /** Hears the text as it comes about, where the caller listens. */
  readonly onText: OnText | undefined
  /** The caller has heard some of the text. */
  readonly isHeard: () => boolean
  /** The caller has its answer. */
  readonly isSettled: () => boolean
}

export interface Caller {
  readonly signal: AbortSignal | undefined
  readonly onText: ((text: string) => void) | undefined
}

export interface EntryEvents {
  /** The entry is there, to be settled. */
  readonly onOpen: (entry: Entry) => void
  /** The caller has left before that. */
  readonly onAbort: (entry: Entry) => void
  /** Its time has come before that. */
  readonly onDeadline: (entry: Entry) => void
}

/** @returns what the entry is settled with; until then the caller's signal and the deadline are watched */
export function openEntry(order: Order, { signal, onText }: Caller, { onOpen, onAbort, onDeadline }: EntryEvents): Promise<PoolResult> {
  return new Promise((resolve, reject) => {
    let isSettled = false
    const settled = (): void => {
      isSettled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    let isHeard = false
    const hearing = (text: string): void => {
      isHeard = true
      onText?.(text)
    }
    const entry: Entry = {
      ...order,
      onText: onText && textForwarder(hearing, () => isSettled),
      isHeard: () => isHeard,
      isSettled: () => isSettled,
      resolve: (result) => {
        settled()
        resolve(result)
      },
      reject: (error) => {
        settled()
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    }
    const abort = (): void => onAbort(entry)
    const allowedMs = order.deadlineAt - order.since
    const timer = allowedMs === Infinity ? undefined : setTimeout(() => onDeadline(entry), Math.min(allowedMs, LONGEST_TIMER_MS))
    signal?.addEventListener('abort', abort, { once: true })
    onOpen(entry)
  })
}

/** Passes pieces on until the caller has its answer; what a run that is done anew says again is left out. */
function textForwarder(onText: (text: string) => void, isSettled: () => boolean): OnText {
  let heard = 0
  return ({ from, text }) => {
    const fresh = text.slice(Math.max(0, heard - from))
    if (fresh === '' || isSettled()) return
    heard += fresh.length
    onText(fresh)
  }
}
