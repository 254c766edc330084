import type { ChildProcess } from 'node:child_process'
import type { Static, TSchema } from '#typebox'
import { Value } from '#typebox/value'
import { messageOf } from '../../../base/errors.ts'
import { exchange, startProcess, type ProcessProblems } from '../bounded-process.ts'
import { DocumentError } from '../errors.ts'
import { permissionFlags } from '../permissions.ts'
import { RESIDENT_BYTES, residentBytes } from '../process-bounds.ts'
import { processorMs, wallMs } from '../process-time.ts'
import { ProblemSchema, type ReadTask } from './protocol.ts'

const CHILD_FILE = new URL('./child.js', import.meta.url)
/** A process that uses more memory after a file is replaced. */
const RETIRE_BYTES = RESIDENT_BYTES / 2

export interface ProcessOptions {
  /** CPU time limit per file in milliseconds. */
  readonly parseMs: number
  /** Compiled main file of the process. */
  readonly childFile?: URL
}

/** A process that reads files, one at a time. A process compromised or blocked by a file is killed and replaced. */
export class ReadingProcess {
  readonly #options: Required<ProcessOptions>
  readonly #closing = new AbortController()
  #child: ChildProcess | undefined

  constructor({ parseMs, childFile = CHILD_FILE }: ProcessOptions) {
    this.#options = { parseMs, childFile }
  }

  /**
   * @param schema of the result that the task asks for
   * @throws DocumentError; the signal's reason once aborted; an AbortError once closed
   */
  async run<Schema extends TSchema>(task: ReadTask, schema: Schema, aborting: AbortSignal): Promise<Static<Schema>> {
    const signal = AbortSignal.any([aborting, this.#closing.signal])
    signal.throwIfAborted()
    const known = this.#child
    const used = await processorMs(known?.pid)
    // Aborted while queued.
    if (this.#child?.connected === false) this.#end()
    signal.throwIfAborted()
    const child = (this.#child ??= this.#start())
    try {
      const result = await this.#exchange(child, task, { signal, usedMs: child === known ? used : 0 })
      if (Value.Check(ProblemSchema, result)) throw new DocumentError(result.problem, result.message)
      if (Value.Check(schema, result)) return result
      this.#end()
      throw new DocumentError('damaged', 'The process that read the file sent no result.')
    } finally {
      if (this.#child === child && (await residentBytes(child.pid)) > RETIRE_BYTES) this.#end()
    }
  }

  /** Stops the process and aborts the current file; later calls fail. */
  close(): void {
    this.#closing.abort()
    this.#end()
  }

  #end(): void {
    this.#child?.removeAllListeners()
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  #start(): ChildProcess {
    const child = startProcess(this.#options.childFile, permissionFlags(this.#options.childFile))
    // The program may exit while the process is idle.
    child.unref()
    child.channel?.unref()
    return child
  }

  /** A process that fails is not reused. @param usedMs CPU time used by previous files */
  async #exchange(
    child: ChildProcess,
    task: ReadTask,
    { signal, usedMs }: { readonly signal: AbortSignal; readonly usedMs: number },
  ): Promise<unknown> {
    const { parseMs } = this.#options
    const problems = problemsOf(parseMs, signal)
    const bounds = { ms: wallMs(parseMs), processor: { ms: usedMs + parseMs, exceeded: problems.late }, signal }
    try {
      return await exchange(child, task, bounds, problems)
    } catch (error) {
      this.#end()
      throw error
    }
  }
}

function problemsOf(parseMs: number, signal: AbortSignal): ProcessProblems {
  return {
    late: () =>
      new DocumentError(
        'too_slow',
        `Reading the file took longer than ${parseMs} ms of processor time (CEPE_DOCUMENT_PARSE_MS) and was given up.`,
      ),
    tooLarge,
    crashed: () => new DocumentError('damaged', 'The process that read the file ended: the file is broken, or takes too much memory.'),
    aborted: () => (signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason))),
    unsent: (error) => new DocumentError('damaged', `The process that reads files ended (${messageOf(error)}).`, error),
  }
}

function tooLarge(): DocumentError {
  return new DocumentError('too_much_memory', 'Reading the file took more memory than it may, and was given up.')
}
