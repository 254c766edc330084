import { fork } from 'node:child_process'
import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../log.ts'
import { fromWire, type CacheCounts, type ChildMessage, type ChildOptions, type Job, type ParentMessage, type Say } from '../protocol.ts'

/** How long a process that was asked to end may take before it is killed. */
const STOP_GRACE_MS = 3_000

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
  /** Runs one job, beside others in turns of a step. `say` hears its text as it comes about. Rejects with the task's error, or inference_failed where the process dies. */
  run(job: Job, say?: Say): Run
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
  readonly say: Say | undefined
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

/**
 * Forks a process and waits until it has loaded its model.
 * @throws with the process's own reason (model_invalid, provider_unavailable), or not_ready where it dies, is too slow or is no longer wanted
 */
export function startChild({ entry, options, startTimeoutMs, signal, log }: StartOptions): Promise<Child> {
  // What libraries print belongs to diagnostics, never to the output of a command.
  const child = fork(entry, {
    serialization: 'advanced',
    stdio: ['ignore', 2, 2, 'ipc'],
    // Only TypeScript needs the loader that this process was started with; its other flags (--inspect) are not meant for children.
    execArgv: entry.pathname.endsWith('.ts') ? process.execArgv : [],
  })
  const name = `${options.role} process ${child.pid ?? '(not started)'}`
  const pending = new Map<number, Pending>()
  let nextId = 1
  let pingedAt: number | undefined
  let loading = false
  let alive = true
  let rssBytes = 0
  let cache: CacheCounts | undefined
  // A message that cannot be sent means that the process is gone, and 'exit' tells that.
  const send = (message: ParentMessage): void => void child.send(message, () => undefined)
  const kill = (): void => {
    alive = false
    child.kill('SIGKILL')
  }

  const exited = new Promise<string>((resolve) => {
    const gone = (how: string): void => {
      alive = false
      const message = `The ${name} ended (${how}) while running the request; it is being replaced. Send the request again.`
      for (const { reject } of pending.values()) reject(new CodedError('inference_failed', message))
      pending.clear()
      resolve(how)
    }
    child.once('exit', (code, killedBy) => gone(killedBy ?? `exit code ${String(code)}`))
    child.on('error', (error) => {
      if (child.pid === undefined) gone(messageOf(error))
      else log('warn', `${name}: ${messageOf(error)}`)
    })
  })

  const settle = (id: number, rss: number) => {
    rssBytes = rss
    const settled = pending.get(id)
    pending.delete(id)
    return settled
  }

  const running: Child = {
    pid: child.pid ?? -1,
    get alive() {
      return alive
    },
    get rssBytes() {
      return rssBytes
    },
    get cache() {
      return cache
    },
    get silentMs() {
      return pingedAt === undefined || loading ? 0 : performance.now() - pingedAt
    },
    exited,
    run: (job, say) => {
      const id = nextId++
      const done = new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject, say })
        send({ kind: 'run', id, job, spoken: say !== undefined })
      })
      return { done, cancel: () => send({ kind: 'cancel', id }) }
    },
    ping: () => {
      if (pingedAt !== undefined) return
      pingedAt = performance.now()
      send({ kind: 'ping' })
    },
    kill,
    stop: async () => {
      if (child.connected) child.disconnect()
      const killer = setTimeout(kill, STOP_GRACE_MS)
      await exited
      clearTimeout(killer)
    },
  }

  return new Promise((resolve, reject) => {
    const refuse = (error: CodedError): void => {
      clearTimeout(timer)
      kill()
      reject(error)
    }
    const timer = setTimeout(
      () => refuse(new CodedError('not_ready', `The ${name} has not loaded its model within ${startTimeoutMs} ms.`)),
      startTimeoutMs,
    )
    const abandon = (): void => refuse(new CodedError('not_ready', `The ${name} is no longer wanted.`))
    signal.addEventListener('abort', abandon, { once: true })
    child.on('message', (message: ChildMessage) => {
      pingedAt = undefined
      switch (message.kind) {
        case 'ready':
          rssBytes = message.rssBytes
          clearTimeout(timer)
          signal.removeEventListener('abort', abandon)
          resolve(running)
          break
        case 'refused':
          refuse(fromWire(message.error))
          break
        case 'piece':
          pending.get(message.id)?.say?.(message.piece)
          break
        case 'done':
          cache = message.cache
          settle(message.id, message.rssBytes)?.resolve(message.output)
          break
        case 'failed':
          settle(message.id, message.rssBytes)?.reject(fromWire(message.error))
          break
        case 'pong':
          break
        case 'loading':
          loading = message.loading
          break
        case 'log':
          log(message.level, `${name}: ${message.message}`)
          break
      }
    })
    exited.then((how) => {
      signal.removeEventListener('abort', abandon)
      refuse(new CodedError('not_ready', `The ${name} ended (${how}) while loading its model.`))
    }, reject)
    if (signal.aborted) abandon()
    else send({ kind: 'start', options })
  })
}
