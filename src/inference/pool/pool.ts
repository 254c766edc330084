import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { silent } from '../log.ts'
import type { Job, Output, Say, TaskName, Tasks } from '../protocol.ts'
import { startChild, type Child } from './child-process.ts'
import { createFairQueue, LANES, type Lane } from './queue.ts'
import { createRunTimes } from './run-times.ts'
import { createSlot, isSilent, supervise, type Entry, type Slot } from './slot.ts'
import {
  DEFAULT_BACKOFF_MS,
  DEFAULT_CHILDREN,
  DEFAULT_DRAIN_MS,
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_MAX_QUEUE,
  DEFAULT_MAX_RUN_MS,
  DEFAULT_START_TIMEOUT_MS,
  type ChildState,
  type Pool,
  type PoolOptions,
  type PoolResult,
  type PoolRunOptions,
} from './contract.ts'

const LONGEST_RETRY_AFTER_S = 60
/** setTimeout takes 32-bit milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

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
    heartbeatMs = DEFAULT_HEARTBEAT_MS,
    startTimeoutMs = DEFAULT_START_TIMEOUT_MS,
    backoffMs = DEFAULT_BACKOFF_MS,
    log = silent,
  } = options
  const { role } = childOptions
  const queue = createFairQueue<Entry>()
  const runTimes = createRunTimes()
  const slots: Slot[] = Array.from({ length: children }, createSlot)
  const closing = new AbortController()
  let accepting = true
  let restarts = 0
  let finished = 0
  let lastError: CodedError | undefined
  let onIdle: (() => void) | undefined

  const start = (): Promise<Child> => startChild({ entry: file, options: childOptions, startTimeoutMs, signal: closing.signal, log })
  const busy = (): number => slots.filter(({ running }) => running.size > 0).length
  const waiting = (): number => LANES.reduce((sum, lane) => sum + queue.size(lane), 0)
  const runningNow = () => slots.flatMap(({ running }) => [...running.values()])

  /** A question and a long run take turns in one process; bulk work has it alone, and only when no question waits. */
  const takes = ({ child, running }: Slot, lane: Lane): boolean =>
    child?.alive === true && !running.has(lane) && (lane === 'bulk' ? running.size + queue.size('question') === 0 : !running.has('bulk'))

  const retryAfterS = (work: Pick<Entry, 'job' | 'lane' | 'cost'>): number => {
    const ahead = (waiting() + runningNow().length) * runTimes.expect(work)
    return Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, Math.ceil(ahead / children / 1000)))
  }
  const late = ({ since, deadlineAt, ...work }: Pick<Entry, 'job' | 'lane' | 'cost' | 'since' | 'deadlineAt'>, doing: string): CodedError =>
    new CodedError(
      'deadline_exceeded',
      `The request did not finish within ${Math.round(deadlineAt - since)} ms (${doing}). Try again later, allow more time or send a smaller request.`,
      { retryAfterS: retryAfterS(work) },
    )

  /** Waiting has used up the time that its run will take: it would only keep others from finishing in theirs. */
  const cannotFinish = (entry: Entry): boolean => {
    const needed = runTimes.expect(entry)
    return performance.now() + needed > entry.deadlineAt && needed <= entry.deadlineAt - entry.since
  }

  const next = (lane: Lane): Entry | undefined => {
    for (let entry = queue.shift(lane); entry; entry = queue.shift(lane)) {
      if (!cannotFinish(entry)) return entry
      entry.reject(late(entry, 'too little time was left after waiting'))
    }
    return undefined
  }

  const dispatch = (): void => {
    for (const slot of slots) {
      for (const lane of LANES) {
        const entry = takes(slot, lane) ? next(lane) : undefined
        // execute() settles the entry and never rejects.
        if (entry) execute(slot, entry).catch((error: unknown) => log('error', `This is a bug: ${messageOf(error)}`))
      }
    }
    if (waiting() + busy() === 0) onIdle?.()
  }

  const execute = async (slot: Slot, entry: Entry): Promise<void> => {
    const { child } = slot
    if (!child) return
    const started = performance.now()
    const run = child.run(entry.job, entry.say)
    const running = { entry, run, expectedMs: runTimes.expect(entry) }
    slot.running.set(entry.lane, running)
    let overran = false
    const overrun = (): void => {
      overran = slot.overran = true
      log('warn', `Killing ${role} process ${child.pid}: a run of it has taken more than ${maxRunMs} ms.`)
      child.kill()
    }
    const timer = setTimeout(overrun, Math.min(maxRunMs, LONGEST_TIMER_MS))
    try {
      const output = await run.done
      const runMs = performance.now() - started
      finished++
      runTimes.note(entry, runMs)
      entry.resolve({ output, queueMs: started - entry.since, runMs })
    } catch (error) {
      if (overran) entry.reject(tooLong(maxRunMs))
      // Another run was the reason that its process was killed.
      else if (slot.overran && !child.alive && !entry.isSettled()) queue.push(entry)
      else entry.reject(error)
    }
    clearTimeout(timer)
    if (child.alive) {
      slot.failures = 0
      lastError = undefined
    }
    slot.running.delete(entry.lane)
    dispatch()
  }

  /** Tells the caller of a waiting or running job that it is over, and the run that nobody wants it. */
  const leave = (entry: Entry, error: CodedError): void => {
    queue.remove(entry)
    entry.reject(error)
    for (const { running } of slots) {
      const current = running.get(entry.lane)
      if (current?.entry === entry) current.run.cancel()
    }
    dispatch()
  }

  const unavailable = (reason: CodedError, waitMs: number): CodedError =>
    new CodedError('not_ready', `No ${role} process can be kept running: ${reason.message}`, {
      retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
      cause: reason,
    })

  /** Without any process left, nobody is kept waiting. */
  const onFailed = (slot: Slot, error: CodedError, waitMs: number): void => {
    lastError = error
    if (slot.failures < 2 || slots.some(({ child }) => child?.alive === true)) return
    for (const entry of queue.clear()) entry.reject(unavailable(error, waitMs))
    dispatch()
  }

  const first = await start()
  const supervision = {
    ...{ role, start, closing: closing.signal, backoffMs, heartbeatMs, log, onFailed },
    onServing: dispatch,
    onEnded: () => void restarts++,
  }
  const supervised = slots.map((slot, index) => supervise(slot, supervision, index === 0 ? first : undefined))

  const run: Pool['run'] = (
    job,
    { signal, deadlineMs = Infinity, client = '', lane = 'question', cost = 1, admitted = false, onText } = {},
  ) =>
    new Promise((resolve, reject) => {
      if (!accepting) throw new CodedError('not_ready', 'The service is shutting down.')
      if (signal?.aborted) throw abandoned()
      const broken = slots.every((slot) => slot.child?.alive !== true) && slots.some((slot) => slot.failures > 1)
      if (broken && lastError) throw unavailable(lastError, backoffMs.first)
      if (!admitted && queue.size(lane) >= maxQueue && !slots.some((slot) => takes(slot, lane))) {
        throw new CodedError('overloaded', `${queue.size(lane)} requests are waiting for the ${role} already. Try again later.`, {
          retryAfterS: retryAfterS({ job, lane, cost }),
        })
      }
      const since = performance.now()
      const deadlineAt = since + deadlineMs
      if (!(deadlineMs > 0)) throw late({ job, lane, cost, since, deadlineAt }, 'no time was left for the run')
      let isSettled = false
      const settled = (): void => {
        isSettled = true
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const entry: Entry = {
        ...{ job, client, lane, cost, since, deadlineAt },
        say: onText && hear(onText, () => isSettled),
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
      const abort = (): void => leave(entry, abandoned())
      const expire = (): void => leave(entry, late(entry, 'waiting included'))
      const timer = deadlineMs === Infinity ? undefined : setTimeout(expire, Math.min(deadlineMs, LONGEST_TIMER_MS))
      signal?.addEventListener('abort', abort, { once: true })
      queue.push(entry)
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
    for (const entry of [...queue.clear(), ...runningNow().map(({ entry }) => entry)]) entry.reject(cut)
    await Promise.all(slots.map(async ({ child, running }) => (running.size > 0 ? child?.kill() : child?.stop())))
    await Promise.all(supervised)
  }
  let closed: Promise<void> | undefined

  const stateOf = (slot: Slot): ChildState => {
    if (slot.child?.alive !== true) return 'starting'
    return isSilent(slot, heartbeatMs) ? 'silent' : slot.running.size > 0 ? 'busy' : 'idle'
  }

  return {
    run,
    status: () => {
      const ready = slots.filter((slot) => ['idle', 'busy'].includes(stateOf(slot))).length
      return {
        state: !accepting ? 'closing' : ready > 0 ? 'serving' : 'recovering',
        children: slots.map((slot) => {
          const alive = slot.child?.alive ? slot.child : undefined
          return { pid: alive?.pid ?? null, state: stateOf(slot), rssBytes: alive?.rssBytes ?? 0, cache: alive?.cache }
        }),
        ready,
        busy: busy(),
        queued: { question: queue.size('question'), long: queue.size('long'), bulk: queue.size('bulk') },
        restarts,
        finished,
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
): Promise<Omit<PoolResult, 'output'> & { readonly output: Output<Name> }> {
  const { output, ...times } = await pool.run({ task, input } as Job, options)
  // The process is this program: a task's output has the task's type.
  return { output: output as Output<Name>, ...times }
}

/** Passes pieces on until the caller has its answer; what a run that is done anew says again is left out. */
function hear(onText: (text: string) => void, isSettled: () => boolean): Say {
  let heard = 0
  return ({ from, text }) => {
    const fresh = text.slice(Math.max(0, heard - from))
    if (fresh === '' || isSettled()) return
    heard += fresh.length
    onText(fresh)
  }
}

function abandoned(): CodedError {
  return new CodedError('client_closed', 'The caller has left.')
}

function tooLong(maxRunMs: number): CodedError {
  return new CodedError('deadline_exceeded', `The run took more than ${maxRunMs} ms (CEPE_MAX_RUN_MS). Send a smaller request.`)
}
