import type { TaskCall, OnText } from '../protocol.ts'
import type { PoolResult } from './contract.ts'
import type { Share } from './queue.ts'

/** setTimeout takes 32-bit milliseconds. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A task as submitted, with its deadline. */
export interface SubmittedTask extends Share {
  readonly call: TaskCall
  readonly since: number
  readonly deadlineAt: number
}

/** A submitted task with its caller, until it is settled. */
export interface PendingTask extends SubmittedTask {
  readonly resolve: (result: PoolResult) => void
  readonly reject: (error: unknown) => void
  /** Receives the text as it is generated; undefined if the caller does not stream. */
  readonly onText: OnText | undefined
  /** True once the caller has received a part of the text. */
  readonly hasText: () => boolean
  /** True once the caller has its result or error. */
  readonly isSettled: () => boolean
}

export interface TaskEvents {
  /** The task was created. */
  readonly onOpen: (task: PendingTask) => void
  /** The caller cancelled before the task was settled. */
  readonly onAbort: (task: PendingTask) => void
  /** The deadline passed before the task was settled. */
  readonly onDeadline: (task: PendingTask) => void
}

/** Watches the caller's signal and the deadline until the task is settled. @returns its result */
export function trackTask(
  submitted: SubmittedTask,
  { signal, onText }: { readonly signal: AbortSignal | undefined; readonly onText: ((text: string) => void) | undefined },
  { onOpen, onAbort, onDeadline }: TaskEvents,
): Promise<PoolResult> {
  return new Promise((resolve, reject) => {
    let isSettled = false
    const settled = (): void => {
      isSettled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    let hasText = false
    const forward = (text: string): void => {
      hasText = true
      onText?.(text)
    }
    const task: PendingTask = {
      ...submitted,
      onText: onText && textForwarder(forward, () => isSettled),
      hasText: () => hasText,
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
    const abort = (): void => onAbort(task)
    const allowedMs = submitted.deadlineAt - submitted.since
    const timer = allowedMs === Infinity ? undefined : setTimeout(() => onDeadline(task), Math.min(allowedMs, LONGEST_TIMER_MS))
    signal?.addEventListener('abort', abort, { once: true })
    onOpen(task)
  })
}

/** Forwards pieces until the call is settled; skips text that a retried run repeats. */
function textForwarder(onText: (text: string) => void, isSettled: () => boolean): OnText {
  let sent = 0
  return ({ from, text }) => {
    const fresh = text.slice(Math.max(0, sent - from))
    if (fresh === '' || isSettled()) return
    sent += fresh.length
    onText(fresh)
  }
}
