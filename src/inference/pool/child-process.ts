import { fork, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { endFirst } from '../../../base/process.ts'
import type { Log } from '../log.ts'
import type { PoolSettings } from './contract.ts'
import { Vitals } from './vitals.ts'
import {
  fromWire,
  type CacheCounts,
  type ChildMessage,
  type ChildOptions,
  type TaskCall,
  type ParentMessage,
  type OnText,
  PULSE_FD,
} from '../protocol.ts'

const STOP_GRACE_MS = 3_000
/** Signals of the system to a process that is out of memory, and of the process to itself. */
const MEMORY_SIGNALS: readonly string[] = ['SIGKILL', 'SIGABRT']
const OUT_OF_MEMORY = ', as when it is out of memory: add memory, or set a smaller CEPE_DTYPE or fewer CEPE_READERS'
/** Retry-After in seconds if a process has ended. */
const REPLACED_S = 1

/** A run failed because its process ended. Retryable: the process is replaced. */
export class ProcessEnded extends CodedError {
  constructor(process: string, how: string) {
    const message = `The ${process} ended (${how}) while running the request; it is being replaced. Send the request again.`
    super('not_ready', message, { retryAfterS: REPLACED_S })
  }
}

export interface Run {
  readonly done: Promise<unknown>
  cancel(): void
}

interface Pending {
  readonly resolve: (output: unknown) => void
  readonly reject: (error: Error) => void
  readonly onText: OnText | undefined
}

interface StartOptions extends Pick<PoolSettings, 'childFile' | 'startTimeoutMs'> {
  readonly options: ChildOptions
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * Forks a process and waits until it has loaded its model.
 * @throws the process's error (model_invalid, provider_unavailable), or not_ready if it ends, is too slow or was cancelled
 */
export async function startChild({ childFile, options, startTimeoutMs, signal, log }: StartOptions): Promise<Child> {
  const child = new Child(childFile, options, log)
  const loaded = new AbortController()
  const unfinished = delay(startTimeoutMs, undefined, { signal: AbortSignal.any([signal, loaded.signal]) }).then(
    () => Promise.reject(notReady(`The ${child.name} has not loaded its model within ${startTimeoutMs} ms.`)),
    () => Promise.reject(notReady(`The ${child.name} was cancelled.`)),
  )
  try {
    await Promise.race([child.ready, unfinished])
    return child
  } catch (error) {
    child.kill()
    throw error
  } finally {
    loaded.abort()
  }
}

export class Child {
  readonly name: string
  /** Resolves when the model is loaded. Rejects with the process's error, or not_ready if it ends. */
  readonly ready: Promise<void>
  /** Resolves when the process has ended, with the cause. */
  readonly exited: Promise<string>
  readonly #process: ChildProcess
  readonly #log: Log
  readonly #pending = new Map<number, Pending>()
  #onReady: (() => void) | undefined
  #onRefused: ((error: CodedError) => void) | undefined
  #nextId = 1
  readonly vitals: Vitals
  /** False once it is killed or has ended. */
  alive = true
  /** Resident memory, from its last message. */
  rssBytes = 0
  /** Cache counters, from its last message; undefined without a cache. */
  cache: CacheCounts | undefined

  constructor(childFile: URL, options: ChildOptions, log: Log) {
    // Output of libraries goes to standard error, never to a command's output.
    this.#process = fork(childFile, {
      serialization: 'advanced',
      stdio: ['ignore', 2, 2, 'ipc', 'pipe'],
      // This process's flags (--inspect) are not passed on.
      execArgv: [],
    })
    endFirst(this.#process)
    this.vitals = new Vitals(this.#process.stdio[PULSE_FD])
    this.#log = log
    this.name = `${options.role} process ${this.#process.pid ?? '(not started)'}`
    this.exited = new Promise((resolve) => {
      const gone = (how: string): void => {
        this.#gone(how)
        resolve(how)
      }
      this.#process.once('exit', (code, killedBy) => {
        const isMemory = this.alive && MEMORY_SIGNALS.includes(killedBy ?? '')
        gone(`${killedBy ?? `exit code ${String(code)}`}${isMemory ? OUT_OF_MEMORY : ''}`)
      })
      this.#process.on('error', (error) => {
        if (this.#process.pid === undefined) gone(messageOf(error))
        else log('warn', `${this.name}: ${messageOf(error)}`)
      })
    })
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve
      this.#onRefused = reject
      this.exited.then((how) => reject(notReady(`The ${this.name} ended (${how}) while loading its model.`)), reject)
    })
    this.#process.on('message', (message: ChildMessage) => this.#receive(message))
    this.#send({ kind: 'start', options })
  }

  get pid(): number {
    return this.#process.pid ?? -1
  }

  /** Runs one task, interleaved with others. `onText` receives its text as it is generated. Rejects with the task's error, or ProcessEnded. */
  run(call: TaskCall, onText?: OnText): Run {
    const id = this.#nextId++
    const done = new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, onText })
      this.#send({ kind: 'run', id, call, streamed: onText !== undefined })
    })
    return { done, cancel: () => this.#send({ kind: 'cancel', id }) }
  }

  ping(): void {
    this.vitals.ping(() => this.#send({ kind: 'ping' }))
  }

  /** Sends SIGKILL: a step cannot be interrupted otherwise. */
  kill(): void {
    this.alive = false
    this.#process.kill('SIGKILL')
  }

  /** Lets the process end, and kills it after a grace time. */
  async stop(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect()
    const killer = setTimeout(() => this.kill(), STOP_GRACE_MS)
    await this.exited
    clearTimeout(killer)
  }

  #send(message: ParentMessage): void {
    // A message that cannot be sent means that the process has ended, which 'exit' reports.
    this.#process.send(message, () => undefined)
  }

  #gone(how: string): void {
    this.alive = false
    for (const { reject } of this.#pending.values()) reject(new ProcessEnded(this.name, how))
    this.#pending.clear()
  }

  #receive(message: ChildMessage): void {
    this.vitals.hearMain()
    switch (message.kind) {
      case 'ready':
        this.rssBytes = message.rssBytes
        this.#onReady?.()
        break
      case 'refused':
        this.#onRefused?.(fromWire(message.error))
        break
      case 'piece':
        this.#pending.get(message.id)?.onText?.(message.piece)
        break
      case 'done':
        this.cache = message.cache
        this.#settle(message.id, message.rssBytes)?.resolve(message.output)
        break
      case 'failed':
        this.#settle(message.id, message.rssBytes)?.reject(fromWire(message.error))
        break
      case 'pong':
        break
      case 'loading':
        this.vitals.isLoading = message.loading
        break
      case 'log':
        this.#log(message.level, `${this.name}: ${message.message}`)
        break
    }
  }

  #settle(id: number, rssBytes: number): Pending | undefined {
    this.rssBytes = rssBytes
    const settled = this.#pending.get(id)
    this.#pending.delete(id)
    return settled
  }
}

function notReady(message: string): CodedError {
  return new CodedError('not_ready', message)
}
