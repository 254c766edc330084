import { sizeText } from '../../base/at.ts'
import { type CodedError, diskFull, messageOf } from '../../base/errors.ts'
import type { PassageIndex } from '../../index/open.ts'
import type { AheadEncoder } from './contract.ts'
import type { Log } from './log.ts'
import { renderPassage } from '../text/prompt.ts'
import { withRetry } from './bulk-embed.ts'

/** Passages per request: few, since a question may have to wait for one request. */
const BATCH = 8
/** Passages after which the size of the remaining states is estimated. */
const SAMPLE = 64

export interface AheadProgress {
  readonly done: number
  readonly total: number
  /** Passages whose states were newly stored, and their bytes. */
  readonly stored: number
  readonly bytes: number
  /** Estimated bytes of the remaining passages; undefined until enough were stored for an estimate. */
  readonly left: number | undefined
}

interface AheadOptions {
  readonly index: Pick<PassageIndex, 'count' | 'export'>
  readonly reader: AheadEncoder
  readonly onProgress?: (progress: AheadProgress) => void
  readonly signal?: AbortSignal
}

/**
 * Stores the encoder states of a table's passages, truncated as in the reader's protocol, so that a question reads them from disk.
 * Skips stored ones: run it again after an interruption.
 * @throws disk_full before the disk or the limit is full, with the bytes needed; the signal's reason once aborted; the reader's errors
 */
export async function encodeIndexAhead({ index, reader, onProgress, signal }: AheadOptions): Promise<AheadProgress> {
  const { context_tokens: contextTokens } = reader.manifest.qa_defaults
  let progress: AheadProgress = { done: 0, total: await index.count(), stored: 0, bytes: 0, left: undefined }
  let contexts: string[] = []
  const flush = async (): Promise<void> => {
    const result = await withRetry(() => reader.encodeAhead({ contexts, contextTokens }, signal ? { signal } : {}), signal)
    const done = progress.done + contexts.length
    const total = Math.max(progress.total, done)
    const [stored, bytes] = [progress.stored + result.stored, progress.bytes + result.bytes]
    progress = { done, total, stored, bytes, left: stored < SAMPLE ? undefined : ((total - done) * bytes) / stored }
    contexts = []
    if (progress.left !== undefined && progress.left > result.room) throw tooLarge(progress, result.room)
    onProgress?.(progress)
  }
  for await (const passage of index.export()) {
    signal?.throwIfAborted()
    if (contexts.push(renderPassage(passage)) === BATCH) await flush()
  }
  if (contexts.length > 0) await flush()
  return progress
}

function tooLarge({ done, total, left = 0 }: AheadProgress, room: number): CodedError {
  const problem = `The encoder states of the ${total - done} passages that are left take about ${sizeText(left, Math.ceil)}, and there is room for ${sizeText(room, Math.floor)}`
  const kept = 'What is stored is kept and used; passages without states are encoded when they are asked for.'
  return diskFull('CEPE_STATE_DISK_MB', `${problem}: raise CEPE_STATE_DISK_MB, or free space. ${kept}`)
}

/** Stores the encoder states of new passages at each change of the table, after questions. A failure is logged, the next change retries. */
export function startAheadFollower(options: {
  readonly index: Pick<PassageIndex, 'count' | 'export' | 'refresh'>
  readonly reader: AheadEncoder
  readonly log?: Log | undefined
}) {
  const { log = () => undefined } = options
  const closing = new AbortController()
  let wanted = false
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    while (wanted && !closing.signal.aborted) {
      wanted = false
      try {
        await options.index.refresh()
        const { done, stored, bytes } = await encodeIndexAhead({ ...options, signal: closing.signal })
        log('info', `Encoder states of ${done} passages are on the disk: ${stored} new ones of ${sizeText(bytes)}`)
      } catch (error) {
        if (!closing.signal.aborted) log('warn', `Encoder states are not stored ahead: ${messageOf(error)}`)
      }
    }
    running = undefined
  }
  return {
    /** Starts a pass over the table, or schedules another one if a pass is running. */
    follow: (): void => {
      wanted = true
      running ??= run()
    },
    close: async (): Promise<void> => {
      closing.abort()
      await running
    },
  }
}
