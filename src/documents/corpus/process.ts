import type { ChildProcess } from 'node:child_process'
import { Value } from 'typebox/value'
import { messageOf } from '../../../base/errors.ts'
import { exchange, startProcess, type ProcessProblems } from '../bounded-process.ts'
import { DocumentError } from '../errors.ts'
import type { DocumentPassages } from '../passages/contract.ts'
import { RESIDENT_BYTES, residentBytes } from '../process-bounds.ts'
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
    const child = startProcess(this.#options.entry)
    // A program may end while it waits for the next file.
    child.unref()
    child.channel?.unref()
    return child
  }

  async #exchange(child: ChildProcess, job: PassageJob, signal: AbortSignal): Promise<DocumentPassages> {
    const { parseMs } = this.#options
    const result = await this.#closingOnFailure(async () => {
      const message = await exchange(child, job, { ms: parseMs, signal }, problemsOf(parseMs, signal))
      if (Value.Check(PassageResultSchema, message)) return message
      throw new DocumentError('damaged', 'The process that read the file sent no passages.')
    })
    if ('problem' in result) throw new DocumentError(result.problem, result.message)
    return result
  }

  /** A process that did not answer as it must is not asked again. */
  async #closingOnFailure<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      this.close()
      throw error
    }
  }
}

function problemsOf(parseMs: number, signal: AbortSignal): ProcessProblems {
  return {
    late: () => new DocumentError('too_slow', `Reading the file took longer than ${parseMs} ms (CEPE_DOCUMENT_PARSE_MS) and was given up.`),
    tooLarge,
    crashed: () => new DocumentError('damaged', 'The process that read the file ended: the file is broken, or takes too much memory.'),
    aborted: () => (signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason))),
    unsent: (error) => new DocumentError('damaged', `The process that reads files ended (${messageOf(error)}).`, error),
  }
}

function tooLarge(): DocumentError {
  return new DocumentError('too_much_memory', 'Reading the file took more memory than it may, and was given up.')
}
