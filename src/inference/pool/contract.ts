import type { RunOptions } from '../contract.ts'
import type { Log } from '../log.ts'
import type { ChildOptions } from '../protocol.ts'
import type { Lane } from './queue.ts'

export const DEFAULT_DRAIN_MS = 30_000

export const POOL_DEFAULTS = {
  children: 1,
  /** Requests of each lane that may wait; more are rejected immediately. */
  maxQueue: 64,
  /** Longest run before its process counts as hung and is killed, whatever the request's deadline. */
  maxRunMs: 600_000,
  /**
   * Time without a response before a process is replaced; a fifth of it if no caller waits. Its pulse thread responds while a graph runs;
   * its main thread may be blocked while the process computes, or for many times the duration of its runs.
   */
  heartbeatMs: 10_000,
  /** Longest time for loading the model, and for saving prepacked weights on the first start. */
  startTimeoutMs: 600_000,
  /** Delay before a crashed process is replaced; doubled at every further crash without a finished request in between. */
  backoffMs: { first: 200, longest: 30_000 },
  childFile: new URL('../worker/child.js', import.meta.url),
}

export type PoolSettings = Readonly<typeof POOL_DEFAULTS>

/** Defaults: {@link POOL_DEFAULTS}. */
export interface PoolOptions extends Partial<PoolSettings> {
  readonly options: ChildOptions
  readonly log?: Log | undefined
}

export interface PoolRunOptions extends RunOptions {
  readonly lane?: Lane
  /** Kind of work within the task and lane, whose time per unit of cost is measured. */
  readonly kind?: string
  /** Relative work of the task. Default 1. */
  readonly cost?: number
}

export interface PoolResult {
  readonly output: unknown
  readonly queueMs: number
  readonly runMs: number
}
