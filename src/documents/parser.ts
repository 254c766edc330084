import { CodedError } from '../../base/errors.ts'
import { exchange, startProcess } from './bounded-process.ts'
import { DOCUMENT_LIMITS, type DocumentParser, type ReadDocument, type ReadOptions } from './contract.ts'
import { permissionFlags } from './permissions.ts'
import { wallMs } from './process-time.ts'
import type { ChildJob, ChildResult } from './protocol.ts'
import { decodeText, plainDocument, withText } from './text.ts'
import { createTurns } from './turns.ts'
import { documentType } from './type.ts'

const CHILD_FILE = new URL('./child.js', import.meta.url)
/** Files that are read at a time; each takes a process. */
const AT_ONCE = 2
/** Files that may wait for one. */
const MOST_WAITING = 32
const RETRY_AFTER_S = 5

export interface ParserOptions {
  /** Milliseconds of processor time that reading a file may take. */
  readonly parseMs: number
  /** File that the processes run. Default: the entry beside this file. */
  readonly entry?: URL
}

/** Reads text and Markdown here, and the other kinds in processes of their own, one a file. */
export function createDocumentParser({ parseMs, entry = CHILD_FILE }: ParserOptions): DocumentParser {
  const inTurn = createTurns({ atOnce: AT_ONCE, mostWaiting: MOST_WAITING })
  const closing = new AbortController()

  const inChild = async (job: ChildJob, { signal, deadlineMs = Infinity, client = '' }: ReadOptions) => {
    const until = performance.now() + deadlineMs
    return inTurn(client, async () => {
      // Whoever left while it waited gets no process.
      if (signal?.aborted === true) throw unwanted()
      const left = until - performance.now()
      if (left <= 0) throw late(deadlineMs)
      const signals = signal ? [signal, closing.signal] : [closing.signal]
      return readInChild(job, {
        entry,
        cpuMs: parseMs,
        ms: Math.min(wallMs(parseMs), left),
        late: left < wallMs(parseMs) ? late(deadlineMs) : tooSlow(parseMs),
        signal: AbortSignal.any(signals),
      })
    })
  }

  return {
    read: async (file, options = {}) => {
      const type = documentType(file)
      const document =
        type !== 'text' && type !== 'markdown'
          ? await inChild({ type, bytes: file.bytes, mediaType: file.mediaType, limits: DOCUMENT_LIMITS }, options)
          : plainDocument(decodeText(file.bytes, file.mediaType === undefined ? {} : { mediaType: file.mediaType }), type)
      return withText(document)
    },
    close: () => closing.abort(),
  }
}

interface ChildRun {
  readonly entry: URL
  /** Processor time. */
  readonly cpuMs: number
  /** Time that may pass. */
  readonly ms: number
  /** What to say where the time is over. */
  readonly late: CodedError
  readonly signal: AbortSignal
}

/** One process for one file: whatever the file does to it, it does to no other. */
async function readInChild(job: ChildJob, { entry, cpuMs, ms, late, signal }: ChildRun): Promise<ReadDocument> {
  const child = startProcess(entry, permissionFlags(entry))
  try {
    const bounds = { ms, processor: { ms: cpuMs, exceeded: () => tooSlow(cpuMs) }, signal }
    const result = (await exchange(child, job, bounds, { late: () => late, tooLarge, crashed, aborted: unwanted })) as ChildResult
    if ('error' in result) throw new CodedError(result.error.code, result.error.message, { field: 'file' })
    return result.document
  } finally {
    child.kill('SIGKILL')
  }
}

function unwanted(): CodedError {
  return new CodedError('client_closed', 'The request was cancelled.')
}

function tooSlow(ms: number): CodedError {
  return new CodedError(
    'document_invalid',
    `Reading the file took longer than ${ms} ms of processor time (CEPE_DOCUMENT_PARSE_MS) and was given up.`,
    {
      field: 'file',
    },
  )
}

function late(deadlineMs: number): CodedError {
  return new CodedError('deadline_exceeded', `The file was not read within ${deadlineMs} ms.`, { retryAfterS: RETRY_AFTER_S })
}

function tooLarge(): CodedError {
  return new CodedError('document_invalid', 'Reading the file took more memory than it may, and was given up.', { field: 'file' })
}

function crashed(): CodedError {
  return new CodedError('document_invalid', 'The process that read the file ended: the file is broken, or takes too much memory.', {
    field: 'file',
  })
}
