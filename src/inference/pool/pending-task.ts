import type { RunOptions } from '../contract.ts'
import type { TaskCall, OnText } from '../protocol.ts'
import type { PoolResult } from './contract.ts'
import type { Share } from './queue.ts'

/** setTimeout takes 32-bit milliseconds. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface SubmittedTask extends Share {
  readonly call: TaskCall
  /** Runs of one kind take a time in proportion to their cost: of a task and lane, and of what the caller tells apart. */
  readonly kind: string
  readonly since: number
  readonly deadlineAt: number
}

/** A submitted task with its caller, until it is settled. */
export interface PendingTask extends SubmittedTask {
  readonly resolve: (result: PoolResult) => void
  readonly reject: (error: unknown) => void
  /** Receives the text as it is generated; undefined if the caller does not stream. */
  readonly onText: OnText | undefined
  /** Characters of the text that the caller has received. */
  sent: number
  /** True once the caller has its result or error. */
  isSettled: boolean
  /** True once its process has ended and it is run again. */
  isRepeated: boolean
}

interface TaskEvents {
  readonly onOpen: (task: PendingTask) => void
  /** The caller cancelled before the task was settled. */
  readonly onAbort: (task: PendingTask) => void
  readonly onDeadline: (task: PendingTask) => void
}

/** Watches the caller's signal and the deadline until the task is settled. @returns its result */
export function trackTask(
  submitted: SubmittedTask,
  { signal, onText }: RunOptions,
  { onOpen, onAbort, onDeadline }: TaskEvents,
): Promise<PoolResult> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      task.isSettled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const task: PendingTask = {
      ...submitted,
      sent: 0,
      isSettled: false,
      isRepeated: false,
      // Skips text that a retried run repeats.
      onText:
        onText &&
        (({ from, text }) => {
          const fresh = text.slice(Math.max(0, task.sent - from))
          if (fresh === '' || task.isSettled) return
          task.sent += fresh.length
          onText(fresh)
        }),
      resolve: (result) => {
        settle()
        resolve(result)
      },
      reject: (error) => {
        settle()
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
