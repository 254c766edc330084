import type { RunOptions } from '../contract.ts'
import type { Log } from '../log.ts'
import type { CacheCounts, ChildOptions, TaskCall } from '../protocol.ts'
import type { Lane } from './queue.ts'

export const DEFAULT_CHILDREN = 1
/** Requests of each lane that may wait. */
export const DEFAULT_MAX_QUEUE = 64
/** Longest run before its process counts as hung and is killed, whatever the request's deadline. */
export const DEFAULT_MAX_RUN_MS = 600_000
/**
 * Time without a response before a process counts as hung. Its pulse thread responds while a graph runs; its main thread may be blocked
 * while the process computes, or for many times the duration of its runs.
 */
export const DEFAULT_HEARTBEAT_MS = 10_000
/** Includes saving prepacked weights on the first start. */
export const DEFAULT_START_TIMEOUT_MS = 600_000
export const DEFAULT_DRAIN_MS = 30_000
/** Delay before a crashed process is replaced; doubled at every further crash without a finished request in between. */
export const DEFAULT_BACKOFF_MS = { first: 200, longest: 30_000 } as const

export interface PoolOptions {
  readonly options: ChildOptions
  /** Number of processes. Default 1. */
  readonly children?: number
  /** Requests of each lane that may wait; more are rejected immediately. Default 64. */
  readonly maxQueue?: number
  /** Longest run, whatever the request's deadline; only a longer one is killed. Default 10 minutes. */
  readonly maxRunMs?: number
  /** Time without a response before a process is replaced; a fifth of it if no caller waits. Default 10 s. */
  readonly heartbeatMs?: number
  /** Longest time for loading the model. Default 10 minutes. */
  readonly startTimeoutMs?: number
  /** Delay before a crashed process is replaced, doubled from `first` to `longest`. Default 200 ms to 30 s. */
  readonly backoffMs?: { readonly first: number; readonly longest: number }
  /** Compiled main file of the processes. Default: `../worker/child.js`. */
  readonly childFile?: URL
  readonly log?: Log | undefined
}

export interface PoolRunOptions extends RunOptions {
  readonly lane?: Lane
  /** Relative work of the task. Default 1. */
  readonly cost?: number
}

export interface PoolResult {
  readonly output: unknown
  readonly queueMs: number
  readonly runMs: number
}

export interface PoolStatus {
  readonly state: 'serving' | 'recovering' | 'closing'
  readonly children: readonly {
    readonly pid: number | null
    readonly state: ChildState
    readonly rssBytes: number
    readonly cache?: CacheCounts | undefined
  }[]
  readonly ready: number
  readonly busy: number
  readonly queued: Readonly<Record<Lane, number>>
  /** Processes replaced since the start, after crashes, hangs and overlong runs. */
  readonly restarts: number
  /** Runs that ended with a result since the start. */
  readonly finished: number
  /** Increases whenever a process stops or resumes responding, ends or is replaced: durations measured across that are meaningless. */
  readonly disruptions: number
  /** Why a process last ended or failed to start, until one serves again. */
  readonly lastError?: string
}
/** silent: does not respond although it should. */
export type ChildState = 'starting' | 'idle' | 'busy' | 'silent'

export interface Pool {
  /**
   * Runs one task on the next idle process. If that process dies, the run is retried once, unless text was already received or the
   * deadline has passed. At the deadline the call fails, and the run stops at its next yield point.
   * @throws overloaded immediately if the queue is full; deadline_exceeded; client_closed after an abort;
   * not_ready if no process can be started, or the process dies and the run cannot be retried; the task's own errors
   */
  run(call: TaskCall, options?: PoolRunOptions): Promise<PoolResult>
  status(): PoolStatus
  /** Refuses new tasks, finishes the accepted ones for `drainMs` at most, then ends every process. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}
