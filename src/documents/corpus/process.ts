import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Type, type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { CodedError, reasonOf } from '../../../base/errors.ts'
import { endFirst } from '../../../base/process.ts'
import { OCR_LIMITS, OCR_STARTS } from '../contract.ts'
import { DOCUMENT_PROBLEMS, DocumentError, type DocumentProblem } from '../errors.ts'
import type { DocumentPassages, ReadDocument } from '../schema.ts'
import type { TypedFile } from '../blocks/read.ts'

const CHILD_FILE = new URL('./child.js', import.meta.url)
const HEAP_MB = 512
const RESIDENT_BYTES = 1024 * 2 ** 20
/** A process that uses more memory after a file is replaced. */
const RETIRE_BYTES = RESIDENT_BYTES / 2
const CHECK_MS = 200
/** Pages of /proc/<pid>/statm are of this size on Linux's x86-64 and most of its arm64. */
const PAGE_BYTES = 4096
/** Linux reports CPU time in hundredths of a second on every machine. */
const TICK_MS = 10
/** Ratio of wall-clock to CPU time limits: allows for a low-priority process on a busy machine, stops one that hangs idle. */
const WALL_FACTOR = 10

/** Node's permission model by its names: that of Node 22.13 and newer, and that of before. */
const FLAGS = ['--permission', '--experimental-permission'] as const

export interface ReadTask extends TypedFile {
  /** File name; used as the title if the file has none. */
  readonly name: string
  /** Words per passage. Absent: the text as a whole. */
  readonly words?: number
  /** Languages of OCR; empty or absent: none. */
  readonly ocr?: string
}

const ProblemSchema = Type.Object({ problem: Type.Unsafe<DocumentProblem>(Type.Enum([...DOCUMENT_PROBLEMS])), message: Type.String() })

/** What the process sends. Untrusted, since a hostile file may control it. */
export type ReadResult = DocumentPassages | ReadDocument | Static<typeof ProblemSchema>

export interface ProcessOptions {
  /** CPU time limit per file in milliseconds. */
  readonly parseMs: number
  /** Languages of OCR ("eng+deu"). Default: no OCR. */
  readonly ocr?: string
  /** Compiled main file of the process. */
  readonly childFile?: URL
}

/** A process that reads one file at a time, with limited memory and no environment. One that a file compromises or blocks is replaced. */
export class ReadingProcess {
  readonly #options: Required<ProcessOptions>
  readonly #closing = new AbortController()
  #child: ChildProcess | undefined

  constructor({ parseMs, ocr = '', childFile = CHILD_FILE }: ProcessOptions) {
    this.#options = { parseMs, ocr, childFile }
  }

  /**
   * @param schema of the result that the task asks for
   * @throws DocumentError; the signal's reason once aborted; an AbortError once closed; internal if the process cannot be started
   */
  async run<Schema extends TSchema>(task: ReadTask, schema: Schema, aborting: AbortSignal): Promise<Static<Schema>> {
    const { parseMs, ocr } = this.#options
    const signal = AbortSignal.any([aborting, this.#closing.signal])
    signal.throwIfAborted()
    const known = this.#child
    const used = await processorMs(known?.pid)
    // Aborted while queued.
    if (this.#child?.connected === false) this.#end()
    signal.throwIfAborted()
    const child = (this.#child ??= this.#start())
    const usedMs = child === known ? used : 0
    const result = await exchange(child, { ...task, ocr }, { parseMs, usedMs, signal }).catch((error: unknown) => {
      this.#end()
      throw error
    })
    if (this.#child === child && (await residentBytes(child.pid)) > RETIRE_BYTES) this.#end()
    if (Value.Check(ProblemSchema, result)) throw new DocumentError(result.problem, result.message)
    if (Value.Check(schema, result)) return result
    this.#end()
    throw new DocumentError('damaged', 'The process that read the file sent no result.')
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
    const { childFile } = this.#options
    const execArgv = [`--max-old-space-size=${HEAP_MB}`, ...permissionFlags(childFile)]
    const child = fork(childFile, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {}, execArgv })
    endFirst(child)
    // The program may exit while the process is idle.
    child.unref()
    child.channel?.unref()
    return child
  }
}

/** Sends a task to a process and waits for its message within the limits. The caller kills the process after an error. */
function exchange(
  child: ChildProcess,
  task: ReadTask,
  { parseMs, usedMs, signal }: { readonly parseMs: number; readonly usedMs: number; readonly signal: AbortSignal },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isOver = false
    let allowedMs = parseMs
    let pages = 0
    const end = (settle: () => void): void => {
      // A check may complete late, during the next task.
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      clearInterval(checks)
      signal.removeEventListener('abort', abandon)
      // A killed process may still report an error.
      child.removeAllListeners().on('error', () => undefined)
      settle()
    }
    const fail = (error: Error): void => end(() => reject(error))
    const abandon = (): void => fail(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)))
    const tooSlow = (): void => {
      const message = `Reading the file took longer than ${allowedMs} ms of processor time (CEPE_DOCUMENT_PARSE_MS) and was given up.`
      fail(new DocumentError('too_slow', message))
    }
    const tooLarge = (): void =>
      fail(new DocumentError('too_much_memory', 'Reading the file took more memory than it may, and was given up.'))
    const timer = setTimeout(tooSlow, existsSync('/proc/self/stat') ? WALL_FACTOR * parseMs : parseMs)
    const checks = setInterval(() => {
      void processorMs(child.pid).then((used) => used > usedMs + allowedMs && tooSlow())
      void residentBytes(child.pid).then((bytes) => bytes > RESIDENT_BYTES && tooLarge())
    }, CHECK_MS)
    child.on('error', (error) =>
      fail(new CodedError('internal', `The process that reads files cannot be started (${reasonOf(error)}).`, { cause: error })),
    )
    child.once('exit', (_code, killedBy) =>
      killedBy === 'SIGKILL'
        ? tooLarge()
        : fail(new DocumentError('damaged', 'The process that read the file ended: the file is broken, or takes too much memory.')),
    )
    child.on('message', (result) => {
      if (result !== OCR_STARTS || task.ocr === '' || ++pages > OCR_LIMITS.pages) return end(() => resolve(result))
      // A page has as much time as a file.
      allowedMs += parseMs
      timer.refresh()
    })
    signal.addEventListener('abort', abandon, { once: true })
    if (signal.aborted) abandon()
    else
      child.send(task, (error) => {
        if (error !== null) fail(new DocumentError('damaged', `The process that reads files ended (${reasonOf(error)}).`, error))
      })
  })
}

/** CPU time of all threads of a process in milliseconds; 0 without /proc. */
async function processorMs(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid ?? 0}/stat`, 'utf8').catch(() => '')
  // The name, in parentheses, may contain any character; user and system time are the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return TICK_MS * (Number(fields.at(11) ?? 0) + Number(fields.at(12) ?? 0))
}

/** Resident memory of a process; 0 without /proc, where only the heap limit applies. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const fields = await readFile(`/proc/${pid ?? 0}/statm`, 'utf8').catch(() => '')
  return PAGE_BYTES * Number(fields.split(' ').at(1) ?? 0)
}

/**
 * Arguments of Node that let a process read this program and its packages, and nothing else: no other file, no further process or
 * thread, no native code, and from Node 25 on no network. None where Node has no permission model.
 * @param childFile file that the process runs
 */
export function permissionFlags(childFile: URL): string[] {
  const flag = FLAGS.find((name) => process.allowedNodeEnvironmentFlags.has(name))
  if (flag === undefined) return []
  const own = fileURLToPath(new URL('../../../', import.meta.url))
  const readable = [path.join(own, '*'), fileURLToPath(childFile), ...packagesAbove(own)]
  return [flag, ...readable.map((name) => `--allow-fs-read=${name}`)]
}

/** Packages, and descriptions of packages, where Node looks for them from a folder on. */
function packagesAbove(from: string): string[] {
  const found: string[] = []
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    const packages = path.join(folder, 'node_modules')
    // Also where it is a link to; Node 20 aborts at a path that is given twice.
    if (existsSync(packages)) for (const place of new Set([packages, realpathSync(packages)])) found.push(path.join(place, '*'))
    found.push(path.join(folder, 'package.json'))
    if (folder === path.dirname(folder)) return found
  }
}
