import { fork, type ChildProcess } from 'node:child_process'
import { CodedError, messageOf } from '../../base/errors.ts'
import { HEAP_MB, MEMORY_CHECK_MS, RESIDENT_BYTES, residentBytes } from './process-bounds.ts'
import { processorMs } from './process-time.ts'

/** What is said of each way in which a process that reads a file fails. */
export interface ProcessProblems {
  /** The time that may pass is over. */
  readonly late: () => Error
  readonly tooLarge: () => Error
  readonly crashed: () => Error
  readonly aborted: () => Error
  /** The job could not be sent. Default: nothing, since the end of the process tells. */
  readonly unsent?: (error: Error) => Error
}

export interface ExchangeBounds {
  /** Milliseconds that may pass. */
  readonly ms: number
  /** Milliseconds of processor time. Default: not bounded. */
  readonly processor?: { readonly ms: number; readonly exceeded: () => Error }
  readonly signal: AbortSignal
}

/** Starts a process with bounded memory and no environment. @param flags further arguments of Node */
export function startProcess(entry: URL, flags: readonly string[] = []): ChildProcess {
  return fork(entry, {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
    execArgv: [`--max-old-space-size=${HEAP_MB}`, ...flags],
  })
}

/**
 * Sends a process a job and waits for its message, as long as it keeps within its bounds.
 * @throws what `problems` says; internal where the process cannot be started. The caller kills the process then.
 */
export function exchange(
  child: ChildProcess,
  job: object,
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
      // A check may answer late, when the process is at its next job.
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
    // The last one stays: a process that is killed may still report an error, which nobody else would take.
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
      child.send(job, (error) => {
        if (error && problems.unsent !== undefined) fail(problems.unsent(error))
      })
  })
}
