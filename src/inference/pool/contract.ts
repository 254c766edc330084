import type { RunOptions } from '../contract.ts'
import type { Log } from '../log.ts'
import type { CacheCounts, ChildOptions } from '../protocol.ts'
import type { Lane } from './queue.ts'

export const DEFAULT_DRAIN_MS = 30_000

export interface PoolSettings {
  readonly children: number
  /** Requests of each lane that may wait; more are rejected immediately. */
  readonly maxQueue: number
  /** Longest run before its process counts as hung and is killed, whatever the request's deadline. */
  readonly maxRunMs: number
  /**
   * Time without a response before a process is replaced; a fifth of it if no caller waits. Its pulse thread responds while a graph runs;
   * its main thread may be blocked while the process computes, or for many times the duration of its runs.
   */
  readonly heartbeatMs: number
  /** Longest time for loading the model, and for saving prepacked weights on the first start. */
  readonly startTimeoutMs: number
  /** Delay before a crashed process is replaced; doubled at every further crash without a finished request in between. */
  readonly backoffMs: { readonly first: number; readonly longest: number }
  readonly childFile: URL
}

export const POOL_DEFAULTS: PoolSettings = {
  children: 1,
  maxQueue: 64,
  maxRunMs: 600_000,
  heartbeatMs: 10_000,
  startTimeoutMs: 600_000,
  backoffMs: { first: 200, longest: 30_000 },
  childFile: new URL('../worker/child.js', import.meta.url),
}

/** Defaults: {@link POOL_DEFAULTS}. */
export interface PoolOptions extends Partial<PoolSettings> {
  readonly options: ChildOptions
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
