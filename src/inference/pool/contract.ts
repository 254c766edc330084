import type { RunOptions } from '../contract.ts'
import type { Log } from '../log.ts'
import type { CacheCounts, ChildOptions, TaskCall } from '../protocol.ts'
import type { Lane } from './queue.ts'

export const DEFAULT_CHILDREN = 1
/** Requests of each lane that may wait. */
export const DEFAULT_MAX_QUEUE = 64
/** A run that takes longer is taken for hung, whatever its request's deadline: only then is its process killed. */
export const DEFAULT_MAX_RUN_MS = 600_000
/**
 * A process that does not answer for so long is taken for hung. Its pulse answers while a graph runs; its main thread may be
 * silent for as long as the process computes, or else for many times the length of its runs.
 */
export const DEFAULT_HEARTBEAT_MS = 10_000
/** Loading a model, and on the first start saving its prepacked weights. */
export const DEFAULT_START_TIMEOUT_MS = 600_000
export const DEFAULT_DRAIN_MS = 30_000
/** Wait before a crashed process is replaced; doubled at every further crash without a finished request in between. */
export const DEFAULT_BACKOFF_MS = { first: 200, longest: 30_000 } as const

export interface PoolOptions {
  readonly options: ChildOptions
  /** Number of processes. Default 1. */
  readonly children?: number
  /** Requests of each lane that may wait; more are rejected immediately. Default 64. */
  readonly maxQueue?: number
  /** Longest run, whatever the request's deadline; only a longer one is killed. Default 10 minutes. */
  readonly maxRunMs?: number
  /** A process that does not answer for so long is replaced; one whose caller has left after a fifth of that. Default 10 s. */
  readonly heartbeatMs?: number
  /** Longest time for loading the model. Default 10 minutes. */
  readonly startTimeoutMs?: number
  /** Wait before a crashed process is replaced, doubled from `first` to `longest`. Default 200 ms to 30 s. */
  readonly backoffMs?: { readonly first: number; readonly longest: number }
  /** File that the processes run. Default: the entry beside this file, compiled or not as this file is. */
  readonly entry?: URL
  readonly log?: Log
}

export interface PoolRunOptions extends RunOptions {
  readonly lane?: Lane
  /** Work of the job beside others of this pool. Default 1. */
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
  /** Processes replaced since the start, after crashes, silence and overlong runs. */
  readonly restarts: number
  /** Runs that ended with a result since the start. */
  readonly finished: number
  /** Grows whenever a process stops answering, answers again, ends or is replaced: times measured across that say nothing about the work. */
  readonly disruptions: number
  /** Why a process last ended or failed to start, until one serves again. */
  readonly lastError?: string
}
/** silent: does not answer though it should. */
export type ChildState = 'starting' | 'idle' | 'busy' | 'silent'

export interface Pool {
  /**
   * Runs one job on the next free process. Where that dies, the run is repeated once if no text was heard of it and its
   * deadline allows. At the deadline the caller is told so, and the run ends at its next step.
   * @throws overloaded at once where the queue is full; deadline_exceeded; client_closed after an abort;
   * not_ready where no process can be started, or where the process dies and the run cannot be repeated; and the task's own errors
   */
  run(job: TaskCall, options?: PoolRunOptions): Promise<PoolResult>
  status(): PoolStatus
  /** Refuses new jobs, finishes the accepted ones for `drainMs` at most, then ends every process. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}
