import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { startChild, type Child } from './child-process.ts'
import type { RunOptions } from '../contract.ts'
import { silent, type Log } from '../log.ts'
import type { ChildOptions, Job, Output, TaskName, Tasks } from '../protocol.ts'
import { createQueue, type Priority } from './queue.ts'

export const DEFAULT_CHILDREN = 1
/** Requests of each priority that may wait. */
export const DEFAULT_MAX_QUEUE = 64
/** A run that takes longer is taken for hung, whatever its request's deadline. */
export const DEFAULT_MAX_RUN_MS = 300_000
/** Loading a model, and on the first start saving its prepacked weights. */
export const DEFAULT_START_TIMEOUT_MS = 600_000
export const DEFAULT_DRAIN_MS = 30_000
/** Wait before a crashed process is replaced; doubled at every further crash without a finished request in between. */
export const DEFAULT_BACKOFF_MS = { first: 200, longest: 30_000 } as const

const LONGEST_RETRY_AFTER_S = 60
/** setTimeout takes 32-bit milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface PoolOptions {
  /** File that the processes run: the inference entry, compiled or not as this file is. */
  readonly entry?: URL
  readonly options: ChildOptions
  readonly children?: number
  readonly maxQueue?: number
  readonly maxRunMs?: number
  readonly startTimeoutMs?: number
  readonly backoffMs?: { readonly first: number; readonly longest: number }
  readonly log?: Log
}

export interface PoolRunOptions extends RunOptions {
  readonly priority?: Priority
  /** Part of a request that has been let in already: the bound of the queue does not apply. */
  readonly admitted?: boolean
}

export interface PoolStatus {
  readonly state: 'serving' | 'recovering' | 'closing'
  readonly children: readonly { readonly pid: number | null; readonly state: 'starting' | 'idle' | 'busy'; readonly rssBytes: number }[]
  readonly ready: number
  readonly busy: number
  readonly queued: Readonly<Record<Priority, number>>
  /** Processes replaced since the start, after crashes and deadlines. */
  readonly restarts: number
  /** Why a process last ended or failed to start, until one serves again. */
  readonly lastError?: string
}

export interface Pool {
  /**
   * Runs one job on the next free process.
   * @throws overloaded at once where the queue is full; deadline_exceeded; client_closed after an abort;
   * inference_failed where the process dies; not_ready where no process can be started; and the task's own errors
   */
  run(job: Job, options?: PoolRunOptions): Promise<{ readonly output: unknown; readonly queueMs: number }>
  status(): PoolStatus
  /** Refuses new jobs, finishes the accepted ones for `drainMs` at most, then ends every process. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

interface Entry {
  readonly job: Job
  readonly since: number
  readonly deadlineAt: number
  readonly resolve: (result: { readonly output: unknown; readonly queueMs: number }) => void
  readonly reject: (error: unknown) => void
}

interface Slot {
  child?: Child
  entry?: Entry
  /** Crashes since the last finished request. */
  failures: number
  /** Killed because its request was past the deadline, which is no failure of the process. */
  overdue: boolean
}

/**
 * Starts processes of one role and keeps them running.
 * The first is started alone: a model that cannot be loaded is reported once, and its prepacked weights are saved once.
 * @throws with the first process's reason where it does not start
 */
export async function createPool(options: PoolOptions): Promise<Pool> {
  const {
    entry: file = new URL(`../worker/child${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
    options: childOptions,
    children = DEFAULT_CHILDREN,
    maxQueue = DEFAULT_MAX_QUEUE,
    maxRunMs = DEFAULT_MAX_RUN_MS,
    startTimeoutMs = DEFAULT_START_TIMEOUT_MS,
    backoffMs = DEFAULT_BACKOFF_MS,
    log = silent,
  } = options
  const queue = createQueue<Entry>()
  const slots: Slot[] = Array.from({ length: children }, () => ({ failures: 0, overdue: false }))
  const closing = new AbortController()
  let accepting = true
  let restarts = 0
  let lastError: CodedError | undefined
  /** Moving average of run times, for Retry-After. */
  let averageRunMs = 0
  let onIdle: (() => void) | undefined

  const start = (): Promise<Child> => startChild({ entry: file, options: childOptions, startTimeoutMs, signal: closing.signal, log })
  const isFree = (slot: Slot): boolean => slot.child?.alive === true && slot.entry === undefined
  const busy = (): number => slots.filter((slot) => slot.entry !== undefined).length
  const waiting = (): number => queue.size('question') + queue.size('bulk')

  const retryAfterS = (): number =>
    Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, Math.ceil((averageRunMs * (waiting() + busy())) / children / 1000)))

  const dispatch = (): void => {
    for (const slot of slots) {
      if (!isFree(slot)) continue
      const entry = queue.shift()
      if (!entry) break
      // execute() settles the entry and never rejects.
      execute(slot, entry).catch((error: unknown) => log('error', `This is a bug: ${messageOf(error)}`))
    }
    if (waiting() + busy() === 0) onIdle?.()
  }

  const execute = async (slot: Slot, entry: Entry): Promise<void> => {
    const { child } = slot
    if (!child) return
    slot.entry = entry
    const started = performance.now()
    const timer = setTimeout(
      () => {
        entry.reject(overdue(entry, started))
        log('warn', `Killing ${childOptions.role} process ${child.pid}: its request is past the deadline.`)
        slot.overdue = true
        child.kill()
      },
      Math.max(0, Math.min(maxRunMs, entry.deadlineAt - started, LONGEST_TIMER_MS)),
    )
    try {
      const output = await child.run(entry.job)
      const took = performance.now() - started
      averageRunMs = averageRunMs === 0 ? took : 0.8 * averageRunMs + 0.2 * took
      entry.resolve({ output, queueMs: started - entry.since })
    } catch (error) {
      entry.reject(error)
    }
    clearTimeout(timer)
    if (child.alive) {
      slot.failures = 0
      lastError = undefined
    }
    delete slot.entry
    dispatch()
  }

  const overdue = (entry: Entry, started: number): CodedError => {
    const [limit, remedy] =
      entry.deadlineAt - started <= maxRunMs
        ? [entry.deadlineAt - entry.since, 'Allow more time or send a smaller request.']
        : [maxRunMs, 'Send a smaller request.']
    return new CodedError('deadline_exceeded', `The request did not finish within ${Math.round(limit)} ms. ${remedy}`)
  }

  /** Keeps one slot filled until the pool closes. */
  const supervise = async (slot: Slot, first?: Child): Promise<void> => {
    let child = first
    while (!closing.signal.aborted) {
      try {
        child ??= await start()
      } catch (error) {
        if (closing.signal.aborted) return
        await failed(slot, asCodedError(error))
        continue
      }
      slot.child = child
      dispatch()
      const how = await child.exited
      delete slot.child
      child = undefined
      if (closing.signal.aborted) return
      restarts++
      if (!slot.overdue) await failed(slot, new CodedError('not_ready', `The ${childOptions.role} process ended (${how}).`))
      slot.overdue = false
    }
  }

  /** Notes a crash and waits before the next start; without any process left, nobody is kept waiting. */
  const failed = async (slot: Slot, error: CodedError): Promise<void> => {
    slot.failures++
    lastError = error
    const waitMs = Math.min(backoffMs.longest, backoffMs.first * 2 ** (slot.failures - 1))
    log('error', `${error.message} Starting another in ${waitMs} ms.`)
    if (slot.failures > 1 && slots.every((other) => other.child?.alive !== true)) {
      for (const entry of queue.clear()) entry.reject(unavailable(error, waitMs))
      dispatch()
    }
    await delay(waitMs, undefined, { signal: closing.signal }).catch(() => undefined)
  }

  const unavailable = (reason: CodedError, waitMs: number): CodedError =>
    new CodedError('not_ready', `No ${childOptions.role} process can be kept running: ${reason.message}`, {
      retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
      cause: reason,
    })

  const first = await start()
  const supervised = slots.map((slot, index) => supervise(slot, index === 0 ? first : undefined))

  const run: Pool['run'] = (job, { signal, deadlineMs, priority = 'question', admitted = false } = {}) =>
    new Promise((resolve, reject) => {
      if (!accepting) throw new CodedError('not_ready', 'The service is shutting down.')
      if (signal?.aborted) throw abandoned()
      if (deadlineMs !== undefined && !(deadlineMs > 0))
        throw new CodedError('deadline_exceeded', `No time is left for the request (${deadlineMs} ms).`)
      const broken = slots.every((slot) => slot.child?.alive !== true) && slots.some((slot) => slot.failures > 1)
      if (broken && lastError) throw unavailable(lastError, backoffMs.first)
      if (!admitted && queue.size(priority) >= maxQueue && !slots.some(isFree)) {
        throw new CodedError(
          'overloaded',
          `${queue.size(priority)} requests are waiting for the ${childOptions.role} already. Try again later.`,
          { retryAfterS: retryAfterS() },
        )
      }
      const since = performance.now()
      const settled = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const entry: Entry = {
        job,
        since,
        deadlineAt: since + (deadlineMs ?? Infinity),
        resolve: (result) => {
          settled()
          resolve(result)
        },
        reject: (error) => {
          settled()
          reject(error instanceof Error ? error : new Error(String(error)))
        },
      }
      const leave = (error: CodedError): void => {
        queue.remove(entry)
        entry.reject(error)
        dispatch()
      }
      const abort = (): void => leave(abandoned())
      const timer =
        deadlineMs === undefined
          ? undefined
          : setTimeout(() => leave(overdue(entry, performance.now())), Math.min(deadlineMs, LONGEST_TIMER_MS))
      signal?.addEventListener('abort', abort, { once: true })
      queue.push(entry, priority)
      dispatch()
    })

  const close = async (drainMs: number): Promise<void> => {
    accepting = false
    if (waiting() + busy() > 0) {
      const idle = new Promise<void>((resolve) => (onIdle = resolve))
      const timeout = new AbortController()
      await Promise.race([idle, delay(drainMs, undefined, { signal: timeout.signal }).catch(() => undefined)])
      timeout.abort()
    }
    closing.abort()
    const cut = new CodedError('not_ready', 'The service shut down before the request was done.')
    for (const entry of queue.clear()) entry.reject(cut)
    await Promise.all(
      slots.map(async ({ child, entry }) => {
        entry?.reject(cut)
        if (entry) child?.kill()
        else await child?.stop()
      }),
    )
    await Promise.all(supervised)
  }
  let closed: Promise<void> | undefined

  return {
    run,
    status: () => {
      const ready = slots.filter((slot) => slot.child?.alive).length
      return {
        state: !accepting ? 'closing' : ready > 0 ? 'serving' : 'recovering',
        children: slots.map(({ child, entry }) => ({
          pid: child?.alive ? child.pid : null,
          state: !child?.alive ? 'starting' : entry ? 'busy' : 'idle',
          rssBytes: child?.alive ? child.rssBytes : 0,
        })),
        ready,
        busy: busy(),
        queued: { question: queue.size('question'), bulk: queue.size('bulk') },
        restarts,
        ...(lastError === undefined ? {} : { lastError: lastError.message }),
      }
    },
    close: ({ drainMs = DEFAULT_DRAIN_MS } = {}) => (closed ??= close(drainMs)),
  }
}

/** {@link Pool.run} with the task's own types. */
export async function runTask<Name extends TaskName>(
  pool: Pool,
  task: Name,
  input: Tasks[Name]['input'],
  options?: PoolRunOptions,
): Promise<{ readonly output: Output<Name>; readonly queueMs: number }> {
  const { output, queueMs } = await pool.run({ task, input } as Job, options)
  // The process is this program: a task's output has the task's type.
  return { output: output as Output<Name>, queueMs }
}

function abandoned(): CodedError {
  return new CodedError('client_closed', 'The caller has left.')
}

function asCodedError(thrown: unknown): CodedError {
  return thrown instanceof CodedError ? thrown : new CodedError('inference_failed', messageOf(thrown), { cause: thrown })
}
