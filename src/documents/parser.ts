import { CodedError } from '../../base/errors.ts'
import { exchange, startProcess } from './bounded-process.ts'
import { DOCUMENT_LIMITS, type DocumentParser, type ReadDocument, type ReadOptions } from './contract.ts'
import { permissionFlags } from './permissions.ts'
import { wallMs } from './process-time.ts'
import type { ParseTask, ParseResult } from './protocol.ts'
import { decodeText, plainDocument, withText } from './text.ts'
import { createTurns } from './turns.ts'
import { documentType } from './type.ts'

const CHILD_FILE = new URL('./child.js', import.meta.url)
/** Files parsed concurrently, each in a process. */
const AT_ONCE = 2
/** Maximum queued files. */
const MOST_WAITING = 32
const RETRY_AFTER_S = 5

export interface ParserOptions {
  /** CPU time limit per file in milliseconds. */
  readonly parseMs: number
  /** Compiled main file of the processes. */
  readonly childFile?: URL
}

/** Parses text and Markdown in this process, other types in a process per file. */
export function createDocumentParser({ parseMs, childFile = CHILD_FILE }: ParserOptions): DocumentParser {
  const inTurn = createTurns({ atOnce: AT_ONCE, mostWaiting: MOST_WAITING })
  const closing = new AbortController()

  const inChild = async (task: ParseTask, { signal, deadlineMs = Infinity, client = '' }: ReadOptions) => {
    const until = performance.now() + deadlineMs
    return inTurn(client, async () => {
      // Start no process for a client that disconnected while queued.
      if (signal?.aborted === true) throw unwanted()
      const left = until - performance.now()
      if (left <= 0) throw late(deadlineMs)
      const signals = signal ? [signal, closing.signal] : [closing.signal]
      return readInChild(task, {
        childFile,
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
  readonly childFile: URL
  /** CPU time limit. */
  readonly cpuMs: number
  /** Wall-clock limit. */
  readonly ms: number
  /** Error after a timeout. */
  readonly late: CodedError
  readonly signal: AbortSignal
}

/** One process per file, so that a hostile file cannot affect others. */
async function readInChild(task: ParseTask, { childFile, cpuMs, ms, late, signal }: ChildRun): Promise<ReadDocument> {
  const child = startProcess(childFile, permissionFlags(childFile))
  try {
    const bounds = { ms, processor: { ms: cpuMs, exceeded: () => tooSlow(cpuMs) }, signal }
    const result = (await exchange(child, task, bounds, { late: () => late, tooLarge, crashed, aborted: unwanted })) as ParseResult
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
