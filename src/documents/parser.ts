import { CodedError } from '../../base/errors.ts'
import { createSharedSlots } from '../../base/fair-share.ts'
import { ReadDocumentSchema, type ReadDocument } from './schema.ts'
import { ReadingProcess, type ProcessOptions, type ReadTask } from './corpus/process.ts'
import { readText, plainDocument } from './text.ts'
import { documentType, type DocumentFile } from './type.ts'

/** Files parsed concurrently, each in a process. */
const AT_ONCE = 2
const MOST_WAITING = 32
const RETRY_AFTER_S = 5
/** Longest time of a timer in milliseconds. */
const MOST_MS = 2 ** 31 - 1

interface ReadOptions {
  readonly signal?: AbortSignal | undefined
  readonly deadlineMs?: number
  /** Opaque client id for fair sharing of processes. Default: the same for all. */
  readonly client?: string
}

export type DocumentParser = ReturnType<typeof createDocumentParser>

/** Parses text in this process, other types in a process per file, which is killed above a time or memory limit. */
export function createDocumentParser(options: ProcessOptions) {
  const inTurn = createTurns({ atOnce: AT_ONCE, mostWaiting: MOST_WAITING })
  const closing = new AbortController()

  const inChild = async (task: ReadTask, { signal, deadlineMs = Infinity, client = '' }: ReadOptions): Promise<ReadDocument> => {
    const until = performance.now() + deadlineMs
    const isUnwanted = (): boolean => closing.signal.aborted || signal?.aborted === true
    return inTurn(client, async () => {
      // Start no process for a client that disconnected while queued.
      if (isUnwanted()) throw unwanted()
      const left = until - performance.now()
      if (left <= 0) throw late(deadlineMs)
      const expiry = AbortSignal.timeout(Math.ceil(Math.min(left, MOST_MS)))
      // One process per file, so that a hostile file cannot affect others.
      const process = new ReadingProcess(options)
      try {
        return await process.run(task, ReadDocumentSchema, AbortSignal.any([closing.signal, expiry, ...(signal ? [signal] : [])]))
      } catch (error) {
        if (isUnwanted()) throw unwanted()
        throw expiry.aborted ? late(deadlineMs) : error
      } finally {
        process.close()
      }
    })
  }

  return {
    /**
     * @throws unsupported_media_type, document_invalid (broken, encrypted, wrong encoding, above a limit), document_without_text,
     * payload_too_large, overloaded if the queue is full, deadline_exceeded, client_closed
     */
    read: async ({ bytes, mediaType, name = '' }: DocumentFile, read: ReadOptions = {}): Promise<ReadDocument> => {
      const type = documentType({ bytes, name, mediaType })
      if (type === 'text') {
        const { text, warnings } = readText(bytes, { mediaType })
        return plainDocument(text, warnings)
      }
      return inChild({ type, bytes, mediaType, name: '' }, read)
    },
    /** Aborts running parses. */
    close: () => closing.abort(),
  }
}

const unwanted = (): CodedError => new CodedError('client_closed', 'The request was cancelled.')
const late = (deadlineMs: number): CodedError =>
  new CodedError('deadline_exceeded', `The file was not read within ${deadlineMs} ms.`, { retryAfterS: RETRY_AFTER_S })

/**
 * Shares slots between clients: a free one goes to the client with the fewest; ties to the one served longest ago. When the queue is full,
 * no client may exceed its share of it.
 * @param mostWaiting limit of waiting work; several clients together may have twice as much
 * @returns runs the work of a client in its turn @throws overloaded
 */
export function createTurns({ atOnce, mostWaiting }: { readonly atOnce: number; readonly mostWaiting: number }) {
  const room = createSharedSlots(mostWaiting)
  /** The clients of running work. */
  const running: string[] = []
  /** Work of the client served longest ago first. */
  let waiting: { readonly client: string; readonly begin: () => void }[] = []

  const start = (): void => {
    const runningOf = (client: string): number => running.filter((one) => one === client).length
    const [next] = waiting.toSorted((a, b) => runningOf(a.client) - runningOf(b.client))
    if (next === undefined || running.length >= atOnce) return
    const others = waiting.filter((one) => one !== next)
    waiting = [...others.filter(({ client }) => client !== next.client), ...others.filter(({ client }) => client === next.client)]
    running.push(next.client)
    next.begin()
  }

  return async <Result>(client: string, work: () => Promise<Result>): Promise<Result> => {
    const leave = room.take(client)
    if (leave === undefined)
      throw new CodedError('overloaded', `${room.taken} files are queued already. Try again later.`, { retryAfterS: RETRY_AFTER_S })
    await new Promise<void>((resolve) => {
      const begin = (): void => {
        leave()
        resolve()
      }
      waiting.push({ client, begin })
      start()
    })
    return work().finally(() => {
      running.splice(running.indexOf(client), 1)
      start()
    })
  }
}
