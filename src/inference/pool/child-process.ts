import { fork, type ChildProcess } from 'node:child_process'
import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../log.ts'
import { Vitals } from './vitals.ts'
import {
  fromWire,
  type CacheCounts,
  type ChildMessage,
  type ChildOptions,
  type TaskCall,
  type ParentMessage,
  type OnText,
} from '../protocol.ts'
import { PULSE_FD } from '../pulse-pipe.ts'

/** How long a process that was asked to end may take before it is killed. */
const STOP_GRACE_MS = 3_000
/** Seconds after which asking again makes sense where a process has ended. */
const REPLACED_S = 1

/** A run ended with its process. Waiting helps: the process is replaced. */
export class ProcessEnded extends CodedError {
  constructor(process: string, how: string) {
    const message = `The ${process} ended (${how}) while running the request; it is being replaced. Send the request again.`
    super('not_ready', message, { retryAfterS: REPLACED_S })
  }
}

/** One forked inference process that has loaded its model. */
export interface Child {
  readonly pid: number
  /** False from the moment that it is killed or found dead. */
  readonly alive: boolean
  /** Resident memory at its last message. */
  readonly rssBytes: number
  /** Likewise; undefined where it keeps no states. */
  readonly cache: CacheCounts | undefined
  /** Resolves when the process has gone, with how it went. */
  readonly exited: Promise<string>
  /** Milliseconds that a ping has been waiting for any message; 0 where none waits, or a graph is being loaded. A run may keep the process silent. */
  readonly silentMs: number
  /** Milliseconds that no thread of the process has answered, whatever it runs; 0 where it has no thread for that. */
  readonly stoppedMs: number
  /** It uses the processor, though its main thread may be silent. */
  readonly isComputing: boolean
  /** Grows whenever the process stops answering on all threads, and when it answers again. */
  readonly pauses: number
  /** Runs one job, beside others in turns of a step. `say` hears its text as it comes about. Rejects with the task's error, or ProcessEnded. */
  run(job: TaskCall, onText?: OnText): Run
  /** Asks for a sign of life. */
  ping(): void
  /** SIGKILL: a step cannot be interrupted in any other way. */
  kill(): void
  /** Lets the process end by itself, killing it after a grace time. */
  stop(): Promise<void>
}

export interface Run {
  readonly done: Promise<unknown>
  /** Ends the run at its next step. */
  cancel(): void
}

/** A run's caller. */
interface Pending {
  readonly resolve: (output: unknown) => void
  readonly reject: (error: Error) => void
  readonly onText: OnText | undefined
}

export interface StartOptions {
  /** Compiled or TypeScript file of the process. */
  readonly entry: URL
  readonly options: ChildOptions
  /** Time for loading the model. */
  readonly startTimeoutMs: number
  readonly signal: AbortSignal
  readonly log: Log
}

/** What becomes of a start. */
interface Start {
  readonly onReady: () => void
  readonly onRefused: (error: CodedError) => void
}

/**
 * Forks a process and waits until it has loaded its model.
 * @throws with the process's own reason (model_invalid, provider_unavailable), or not_ready where it dies, is too slow or is no longer wanted
 */
export function startChild({ entry, options, startTimeoutMs, signal, log }: StartOptions): Promise<Child> {
  const child = new ForkedChild(entry, options.role, log)
  return new Promise((resolve, reject) => {
    const settled = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abandon)
    }
    const refuse = (error: CodedError): void => {
      settled()
      child.kill()
      reject(error)
    }
    const tooSlow = (): void => refuse(notReady(`The ${child.name} has not loaded its model within ${startTimeoutMs} ms.`))
    const abandon = (): void => refuse(notReady(`The ${child.name} is no longer wanted.`))
    const timer = setTimeout(tooSlow, startTimeoutMs)
    signal.addEventListener('abort', abandon, { once: true })
    const onReady = (): void => {
      settled()
      resolve(child)
    }
    child.exited.then((how) => refuse(notReady(`The ${child.name} ended (${how}) while loading its model.`)), reject)
    if (signal.aborted) abandon()
    else child.load(options, { onReady, onRefused: refuse })
  })
}

class ForkedChild implements Child {
  /** As messages call it. */
  readonly name: string
  readonly exited: Promise<string>
  readonly #process: ChildProcess
  readonly #log: Log
  readonly #pending = new Map<number, Pending>()
  #start: Start | undefined
  #nextId = 1
  readonly #vitals: Vitals
  #loading = false
  #alive = true
  #rssBytes = 0
  #cache: CacheCounts | undefined

  constructor(entry: URL, role: ChildOptions['role'], log: Log) {
    // What libraries print belongs to diagnostics, never to the output of a command.
    this.#process = fork(entry, {
      serialization: 'advanced',
      stdio: ['ignore', 2, 2, 'ipc', 'pipe'],
      // This process's flags (--inspect) are not meant for its children.
      execArgv: [],
    })
    this.#vitals = new Vitals(this.#process.stdio[PULSE_FD])
    this.#log = log
    this.name = `${role} process ${this.#process.pid ?? '(not started)'}`
    this.exited = new Promise((resolve) => {
      const gone = (how: string): void => {
        this.#gone(how)
        resolve(how)
      }
      this.#process.once('exit', (code, killedBy) => gone(killedBy ?? `exit code ${String(code)}`))
      this.#process.on('error', (error) => {
        if (this.#process.pid === undefined) gone(messageOf(error))
        else log('warn', `${this.name}: ${messageOf(error)}`)
      })
    })
    this.#process.on('message', (message: ChildMessage) => this.#receive(message))
  }

  get pid(): number {
    return this.#process.pid ?? -1
  }

  get alive(): boolean {
    return this.#alive
  }

  get rssBytes(): number {
    return this.#rssBytes
  }

  get cache(): CacheCounts | undefined {
    return this.#cache
  }

  get silentMs(): number {
    return this.#loading ? 0 : this.#vitals.mainSilentMs
  }

  get stoppedMs(): number {
    return this.#vitals.stoppedMs
  }

  get isComputing(): boolean {
    return this.#vitals.isComputing
  }

  get pauses(): number {
    return this.#vitals.pauses
  }

  /** Has it load its model. */
  load(options: ChildOptions, start: Start): void {
    this.#start = start
    this.#send({ kind: 'start', options })
  }

  run(job: TaskCall, onText?: OnText): Run {
    const id = this.#nextId++
    const done = new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, onText })
      this.#send({ kind: 'run', id, job, streamed: onText !== undefined })
    })
    return { done, cancel: () => this.#send({ kind: 'cancel', id }) }
  }

  ping(): void {
    this.#vitals.ping(() => this.#send({ kind: 'ping' }))
  }

  kill(): void {
    this.#alive = false
    this.#process.kill('SIGKILL')
  }

  async stop(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect()
    const killer = setTimeout(() => this.kill(), STOP_GRACE_MS)
    await this.exited
    clearTimeout(killer)
  }

  #send(message: ParentMessage): void {
    // A message that cannot be sent means that the process is gone, and 'exit' tells that.
    this.#process.send(message, () => undefined)
  }

  #gone(how: string): void {
    this.#alive = false
    for (const { reject } of this.#pending.values()) reject(new ProcessEnded(this.name, how))
    this.#pending.clear()
  }

  #receive(message: ChildMessage): void {
    this.#vitals.hearMain()
    switch (message.kind) {
      case 'ready':
        this.#rssBytes = message.rssBytes
        this.#start?.onReady()
        break
      case 'refused':
        this.#start?.onRefused(fromWire(message.error))
        break
      case 'piece':
        this.#pending.get(message.id)?.onText?.(message.piece)
        break
      case 'done':
        this.#cache = message.cache
        this.#settle(message.id, message.rssBytes)?.resolve(message.output)
        break
      case 'failed':
        this.#settle(message.id, message.rssBytes)?.reject(fromWire(message.error))
        break
      case 'pong':
        break
      case 'loading':
        this.#loading = message.loading
        break
      case 'log':
        this.#log(message.level, `${this.name}: ${message.message}`)
        break
    }
  }

  #settle(id: number, rssBytes: number): Pending | undefined {
    this.#rssBytes = rssBytes
    const settled = this.#pending.get(id)
    this.#pending.delete(id)
    return settled
  }
}

function notReady(message: string): CodedError {
  return new CodedError('not_ready', message)
}
