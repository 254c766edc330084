import { fork, type ChildProcess } from 'node:child_process'
import { Value } from 'typebox/value'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { DocumentError } from '../errors.ts'
import type { DocumentPassages } from '../passages/contract.ts'
import { HEAP_MB, MEMORY_CHECK_MS, RESIDENT_BYTES, residentBytes } from '../process-bounds.ts'
import { PassageResultSchema, type PassageJob } from './protocol.ts'

const CHILD_FILE = new URL('./child.js', import.meta.url)
/** A process that holds more after a file gives way to a new one. */
const RETIRE_BYTES = RESIDENT_BYTES / 2

export interface ProcessOptions {
  /** Milliseconds that a file may take. */
  readonly parseMs: number
  /** File that the process runs. Default: the entry beside this file. */
  readonly entry?: URL
}

/** A process that cuts files into passages, one at a time. One that a file takes over is killed; the next file gets a new one. */
export class PassageProcess {
  readonly #options: Required<ProcessOptions>
  #child: ChildProcess | undefined

  constructor({ parseMs, entry = CHILD_FILE }: ProcessOptions) {
    this.#options = { parseMs, entry }
  }

  /** @throws DocumentError; the signal's reason once aborted */
  async run(job: PassageJob, signal: AbortSignal): Promise<DocumentPassages> {
    signal.throwIfAborted()
    // It may have ended while it waited.
    if (this.#child?.connected === false) this.close()
    const child = (this.#child ??= this.#start())
    try {
      return await this.#exchange(child, job, signal)
    } finally {
      if (this.#child === child && (await residentBytes(child.pid)) > RETIRE_BYTES) this.close()
    }
  }

  close(): void {
    this.#child?.removeAllListeners()
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  #start(): ChildProcess {
    const child = fork(this.#options.entry, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {},
      execArgv: [`--max-old-space-size=${HEAP_MB}`],
    })
    // A program may end while it waits for the next file.
    child.unref()
    child.channel?.unref()
    return child
  }

  #exchange(child: ChildProcess, job: PassageJob, signal: AbortSignal): Promise<DocumentPassages> {
    const { parseMs } = this.#options
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer)
        clearInterval(memory)
        signal.removeEventListener('abort', abandon)
        child.removeAllListeners()
      }
      const fail = (error: unknown): void => {
        end()
        this.close()
        reject(error instanceof Error ? error : new Error(String(error)))
      }
      const abandon = (): void => fail(signal.reason)
      const timer = setTimeout(
        () =>
          fail(new DocumentError('too_slow', `Reading the file took longer than ${parseMs} ms (CEPE_DOCUMENT_PARSE_MS) and was given up.`)),
        parseMs,
      )
      const memory = setInterval(() => {
        void residentBytes(child.pid).then((bytes) => {
          if (bytes > RESIDENT_BYTES) fail(tooLarge())
        })
      }, MEMORY_CHECK_MS)
      signal.addEventListener('abort', abandon, { once: true })
      child.once('error', (error) =>
        fail(new CodedError('internal', `The process that reads files cannot be started (${messageOf(error)}).`, { cause: error })),
      )
      child.once('exit', (_code, killedBy) =>
        fail(
          killedBy === 'SIGKILL'
            ? tooLarge()
            : new DocumentError('damaged', 'The process that read the file ended: the file is broken, or takes too much memory.'),
        ),
      )
      child.once('message', (result) => {
        if (!Value.Check(PassageResultSchema, result))
          return fail(new DocumentError('damaged', 'The process that read the file sent no passages.'))
        end()
        if ('problem' in result) reject(new DocumentError(result.problem, result.message))
        else resolve(result)
      })
      child.send(job, (error) => {
        if (error) fail(new DocumentError('damaged', `The process that reads files ended (${messageOf(error)}).`, error))
      })
    })
  }
}

function tooLarge(): DocumentError {
  return new DocumentError('too_much_memory', 'Reading the file took more memory than it may, and was given up.')
}
