import { fork, type ChildProcess } from 'node:child_process'
import { CodedError, messageOf } from '../../base/errors.ts'
import { HEAP_MB, MEMORY_CHECK_MS, RESIDENT_BYTES, residentBytes } from './process-bounds.ts'
import { processorMs } from './process-time.ts'

/** Errors for each way in which a process that reads a file can fail. */
export interface ProcessProblems {
  /** Wall-clock timeout. */
  readonly late: () => Error
  readonly tooLarge: () => Error
  readonly crashed: () => Error
  readonly aborted: () => Error
  /** The task could not be sent. Default: none, since the end of the process is reported. */
  readonly unsent?: (error: Error) => Error
}

export interface ExchangeBounds {
  /** Wall-clock limit in milliseconds. */
  readonly ms: number
  /** Limit of processor time in milliseconds. Default: none. */
  readonly processor?: { readonly ms: number; readonly exceeded: () => Error }
  readonly signal: AbortSignal
}

/** Starts a process with limited memory and no environment. @param flags further arguments of Node */
export function startProcess(childFile: URL, flags: readonly string[] = []): ChildProcess {
  return fork(childFile, {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    execArgv: [`--max-old-space-size=${HEAP_MB}`, ...flags],
  })
}

/**
 * Sends a task to a process and waits for its message within the limits.
 * @throws errors of `problems`; internal if the process cannot be started. The caller then kills the process
 */
export function exchange(
  child: ChildProcess,
  task: object,
  { ms, processor, signal }: ExchangeBounds,
  problems: ProcessProblems,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let over = false
    const end = (): void => {
      over = true
      clearTimeout(timer)
      clearInterval(checks)
      signal.removeEventListener('abort', abandon)
      child.removeAllListeners('exit').removeAllListeners('message')
    }
    const fail = (error: Error): void => {
      // A check may complete late, during the next task.
      if (over) return
      end()
      reject(error)
    }
    const abandon = (): void => fail(problems.aborted())
    const timer = setTimeout(() => fail(problems.late()), ms)
    const checks = setInterval(() => {
      if (processor !== undefined)
        void processorMs(child.pid).then((used) => {
          if (used > processor.ms) fail(processor.exceeded())
        })
      void residentBytes(child.pid).then((bytes) => {
        if (bytes > RESIDENT_BYTES) fail(problems.tooLarge())
      })
    }, MEMORY_CHECK_MS)
    // The last listener stays: a killed process may still report an error, which would be unhandled.
    child
      .removeAllListeners('error')
      .on('error', (error) =>
        fail(new CodedError('internal', `The process that reads files cannot be started (${messageOf(error)}).`, { cause: error })),
      )
    child.once('exit', (_code, killedBy) => fail(killedBy === 'SIGKILL' ? problems.tooLarge() : problems.crashed()))
    child.once('message', (result) => {
      end()
      resolve(result)
    })
    signal.addEventListener('abort', abandon, { once: true })
    if (signal.aborted) abandon()
    else
      child.send(task, (error) => {
        if (error && problems.unsent !== undefined) fail(problems.unsent(error))
      })
  })
}
