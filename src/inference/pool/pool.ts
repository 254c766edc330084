import { setTimeout as delay } from 'node:timers/promises'
import { clientClosed, CodedError, messageOf } from '../../../base/errors.ts'
import type { TaskName, Tasks } from '../contract.ts'
import type { TaskCall } from '../protocol.ts'
import { ProcessEnded, startChild, type Child } from './child-process.ts'
import { LONGEST_TIMER_MS, trackTask, type PendingTask, type SubmittedTask } from './pending-task.ts'
import { FairQueue, LANES, type Lane } from './queue.ts'
import { RunTimes } from './run-times.ts'
import { Slot } from './slot.ts'
import { DEFAULT_DRAIN_MS, POOL_DEFAULTS, type PoolOptions, type PoolResult, type PoolRunOptions } from './contract.ts'

const LONGEST_RETRY_AFTER_S = 60
/** Consecutive crashes after which waiting requests are rejected; one question that crashes its process does so twice. */
const HOPELESS = 3
/** Weight of earlier runs of a kind in the expected time of the next one. */
const DECAY = 0.8

/**
 * Starts processes of one role and keeps them running. The first starts alone: a model that cannot be loaded is reported once, and its
 * prepacked weights are saved once.
 * @throws the first process's error
 */
export async function createPool(options: PoolOptions): Promise<Pool> {
  const pool = new Pool(options)
  await pool.start()
  return pool
}

function withDefaults({ log = () => undefined, ...options }: PoolOptions) {
  return { ...POOL_DEFAULTS, ...options, log, role: options.options.role }
}

/** Assigns tasks to slots, one per process. */
export class Pool {
  readonly #settings: ReturnType<typeof withDefaults>
  readonly #queue = new FairQueue<PendingTask>()
  /** An answer in many steps differs from one in a single run. */
  readonly #runTimes = new RunTimes(DECAY)
  /** Milliseconds of the last model load. */
  #startMs = 0
  readonly #slots: readonly Slot[]
  #supervised: readonly Promise<void>[] = []
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined
  #accepting = true
  #restarts = 0
  #finished = 0
  #lastError: CodedError | undefined
  #onIdle: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#settings = withDefaults(options)
    const supervision = {
      ...this.#settings,
      closing: this.#closing.signal,
      start: () => this.#startChild(),
      onServing: () => this.#dispatch(),
      onEnded: () => void this.#restarts++,
      onFailed: (slot: Slot, error: CodedError, waitMs: number) => this.#failed(slot, error, waitMs),
    }
    this.#slots = Array.from({ length: this.#settings.children }, () => new Slot(supervision))
  }

  async start(): Promise<void> {
    const first = await this.#startChild()
    this.#supervised = this.#slots.map((slot, index) => slot.supervise(index === 0 ? first : undefined))
  }

  /**
   * Runs one task on the next idle process. If that process dies, the run is retried once, unless text was already received or the
   * deadline has passed. At the deadline the call fails, and the run stops at its next yield point.
   * @throws overloaded immediately if the queue is full; deadline_exceeded; client_closed after an abort;
   * not_ready if no process can be started, or the process dies and the run cannot be retried; the task's own errors
   */
  async run(
    call: TaskCall,
    { signal, deadlineMs = Infinity, client = '', lane = 'question', kind = '', cost = 1, admitted = false, onText }: PoolRunOptions = {},
  ): Promise<PoolResult> {
    if (!this.#accepting) throw new CodedError('not_ready', 'The service is shutting down.')
    if (signal?.aborted) throw clientClosed()
    const since = performance.now()
    const submitted = { call, client, lane, kind: `${lane} ${call.task} ${kind}`, cost, since, deadlineAt: since + deadlineMs }
    this.#checkServing()
    if (!admitted) this.#checkRoom(submitted)
    if (!(deadlineMs > 0)) throw this.#late(submitted, 'no time was left for the run')
    return trackTask(
      submitted,
      { signal, onText },
      {
        onOpen: (task) => {
          this.#queue.push(task)
          this.#dispatch()
        },
        onAbort: (task) => this.#leave(task, clientClosed()),
        onDeadline: (task) => this.#leave(task, this.#late(task, 'waiting included')),
      },
    )
  }

  status() {
    const ready = this.#slots.filter((slot) => ['idle', 'busy'].includes(this.#stateOf(slot))).length
    return {
      state: !this.#accepting ? 'closing' : ready > 0 ? 'serving' : 'recovering',
      children: this.#slots.map((slot) => {
        const alive = slot.isAlive ? slot.child : undefined
        return { pid: alive?.pid ?? null, state: this.#stateOf(slot), rssBytes: alive?.rssBytes ?? 0, cache: alive?.cache }
      }),
      ready,
      busy: this.#busy(),
      queued: { question: this.#queue.size('question'), long: this.#queue.size('long'), bulk: this.#queue.size('bulk') },
      /** Processes replaced since the start, after crashes, hangs and overlong runs. */
      restarts: this.#restarts,
      /** Runs that ended with a result since the start. */
      finished: this.#finished,
      /** Increases whenever a process stops or resumes responding, ends or is replaced: durations measured across that are meaningless. */
      disruptions: this.#slots.reduce((sum, slot) => sum + slot.disruptions, 0),
      /** Why a process last ended or failed to start, until one serves again. */
      lastError: this.#lastError?.message,
    }
  }

  /** Refuses new tasks, finishes the accepted ones for `drainMs` at most, then ends every process. */
  close({ drainMs = DEFAULT_DRAIN_MS }: { readonly drainMs?: number } = {}): Promise<void> {
    return (this.#closed ??= this.#close(drainMs))
  }

  async #startChild(): Promise<Child> {
    const { childFile, options, startTimeoutMs, log } = this.#settings
    const since = performance.now()
    const child = await startChild({ childFile, options, startTimeoutMs, signal: this.#closing.signal, log })
    this.#startMs = performance.now() - since
    return child
  }

  #busy(): number {
    return this.#slots.filter(({ running }) => running.size > 0).length
  }

  #waiting(): number {
    return LANES.reduce((sum, lane) => sum + this.#queue.size(lane), 0)
  }

  #running() {
    return this.#slots.flatMap(({ running }) => [...running.values()])
  }

  /** silent: does not respond although it should. */
  #stateOf(slot: Slot) {
    if (!slot.isAlive) return 'starting'
    return slot.isSilent ? 'silent' : slot.running.size > 0 ? 'busy' : 'idle'
  }

  /** Questions and long runs share a process step by step; bulk work gets an idle one if no question waits; unresponsive ones get none. */
  #takes(slot: Slot, lane: Lane): boolean {
    const { running } = slot
    if (!slot.isAlive || running.has(lane) || slot.isSilent) return false
    return lane === 'bulk' ? running.size + this.#queue.size('question') === 0 : !running.has('bulk')
  }

  #retryAfterS(work: SubmittedTask): number {
    const ahead = (this.#waiting() + this.#running().length) * this.#runTimes.expect(work)
    return Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, Math.ceil(ahead / this.#settings.children / 1000)))
  }

  /** @param doing how the time was spent */
  #late(submitted: SubmittedTask, doing: string): CodedError {
    const allowedMs = Math.round(submitted.deadlineAt - submitted.since)
    const remedy = 'Try again later, send a smaller request, or raise CEPE_DEADLINE_MS.'
    return new CodedError('deadline_exceeded', `The request did not finish within ${allowedMs} ms (${doing}). ${remedy}`, {
      retryAfterS: this.#retryAfterS(submitted),
    })
  }

  /** @param reason why no process stays up @param waitMs until the next start */
  #unavailable(reason: CodedError, waitMs: number): CodedError {
    return new CodedError('not_ready', `No ${this.#settings.role} process can be kept running: ${reason.message}`, {
      retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)),
      cause: reason,
    })
  }

  #checkServing(): void {
    const broken = this.#slots.every(({ isAlive }) => !isAlive) && this.#slots.some(({ failures }) => failures >= HOPELESS)
    if (broken && this.#lastError) throw this.#unavailable(this.#lastError, this.#settings.backoffMs.first)
  }

  #checkRoom(submitted: SubmittedTask): void {
    const { role, maxQueue } = this.#settings
    const waiting = this.#queue.size(submitted.lane)
    if (waiting < maxQueue || this.#slots.some((slot) => this.#takes(slot, submitted.lane))) return
    throw new CodedError('overloaded', `${waiting} requests are waiting for the ${role} already. Try again later.`, {
      retryAfterS: this.#retryAfterS(submitted),
    })
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      for (const lane of LANES) {
        const task = this.#takes(slot, lane) ? this.#next(lane) : undefined
        // #execute() settles the task and never rejects.
        if (task) this.#execute(slot, task).catch((error: unknown) => this.#settings.log('error', `This is a bug: ${messageOf(error)}`))
      }
    }
    if (this.#waiting() + this.#busy() === 0) this.#onIdle?.()
  }

  #next(lane: Lane): PendingTask | undefined {
    for (let task = this.#queue.shift(lane); task; task = this.#queue.shift(lane)) {
      if (!this.#cannotFinish(task)) return task
      task.reject(this.#late(task, 'too little time was left after waiting'))
    }
    return undefined
  }

  /** True if the remaining time is less than the expected duration of its run. */
  #cannotFinish(task: PendingTask): boolean {
    const needed = this.#runTimes.expect(task)
    return performance.now() + needed > task.deadlineAt && needed <= task.deadlineAt - task.since
  }

  /** A run is retried once if no text was sent and time is left. */
  #mayRepeat(task: PendingTask): boolean {
    if (task.isSettled || task.sent > 0 || task.isRepeated) return false
    const startMs = this.#slots.some(({ isAlive }) => isAlive) ? 0 : this.#settings.backoffMs.first + this.#startMs
    return performance.now() + startMs + this.#runTimes.expect(task) <= task.deadlineAt
  }

  async #execute(slot: Slot, task: PendingTask): Promise<void> {
    const { child } = slot
    if (!child) return
    const { role, maxRunMs, log } = this.#settings
    const started = performance.now()
    const { disruptions } = slot
    const run = child.run(task.call, task.onText)
    slot.running.set(task.lane, { task, run, expectedMs: this.#runTimes.expect(task) })
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
      this.#finished++
      if (slot.disruptions === disruptions) this.#runTimes.note(task, runMs)
      task.resolve({ output, queueMs: started - task.since, runMs })
    } catch (error) {
      if (overran)
        task.reject(new CodedError('deadline_exceeded', `The run took more than ${maxRunMs} ms (CEPE_MAX_RUN_MS). Send a smaller request.`))
      // Its process was killed because of another run.
      else if (slot.overran && !child.alive && !task.isSettled) this.#queue.push(task)
      else if (error instanceof ProcessEnded && this.#mayRepeat(task)) {
        task.isRepeated = true
        this.#queue.push(task)
      } else task.reject(error)
    }
    clearTimeout(timer)
    if (child.alive) {
      slot.failures = 0
      this.#lastError = undefined
    }
    slot.running.delete(task.lane)
    this.#dispatch()
  }

  /** Rejects a waiting or running task for its caller, and cancels its run. */
  #leave(task: PendingTask, error: CodedError): void {
    this.#queue.remove(task)
    task.reject(error)
    for (const { running } of this.#slots) {
      const current = running.get(task.lane)
      if (current?.task === task) current.run.cancel()
    }
    this.#dispatch()
  }

  /** Rejects all waiting tasks if no process is left. */
  #failed(slot: Slot, error: CodedError, waitMs: number): void {
    this.#lastError = error
    if (slot.failures < HOPELESS || this.#slots.some(({ isAlive }) => isAlive)) return
    for (const task of this.#queue.clear()) task.reject(this.#unavailable(error, waitMs))
    this.#dispatch()
  }

  async #close(drainMs: number): Promise<void> {
    this.#accepting = false
    if (this.#waiting() + this.#busy() > 0) {
      const idle = new Promise<void>((resolve) => (this.#onIdle = resolve))
      await Promise.race([idle, delay(drainMs, undefined, { ref: false })])
    }
    this.#closing.abort()
    for (const task of [...this.#queue.clear(), ...this.#running().map(({ task }) => task)])
      task.reject(new CodedError('not_ready', 'The service shut down before the request was done.'))
    await Promise.all(this.#slots.map(async ({ child, running }) => (running.size > 0 ? child?.kill() : child?.stop())))
    await Promise.all(this.#supervised)
  }
}

/** A task of the processes as a method of their model. Its times include the one in the queue. @param check throws for a wrong input */
export function methodOf<Name extends TaskName>(
  pool: Pool,
  task: Name,
  laneOf: (input: Tasks[Name]['input']) => Lane,
  check?: (input: Tasks[Name]['input']) => void,
) {
  return async (input: Tasks[Name]['input'], run?: PoolRunOptions): Promise<Tasks[Name]['output']> => {
    check?.(input)
    const { output, queueMs } = await pool.run({ task, input } as TaskCall, { ...run, lane: laneOf(input) })
    // The process runs this program, so a task's output has the task's type.
    const { timingsMs } = output as { readonly timingsMs?: object }
    return (timingsMs ? { ...(output as object), timingsMs: { queue: queueMs, ...timingsMs } } : output) as Tasks[Name]['output']
  }
}
