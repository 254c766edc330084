import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../../base/errors.ts'
import type { PassageIndex } from '../../../index/open.ts'
import type { AheadEncoder, AheadResult } from '../../inference/contract.ts'
import { renderPassage } from '../../text/prompt.ts'

/** Passages of one request: few, since a question waits for its end at most. */
const BATCH = 8
/** Passages whose states tell what the others will take. */
const SAMPLE = 64
const PASSING = ['overloaded', 'inference_failed', 'deadline_exceeded', 'not_ready']
const ATTEMPTS = 6

export interface AheadProgress {
  readonly done: number
  readonly total: number
  /** Passages whose states were not there yet, and the bytes of those. */
  readonly stored: number
  readonly bytes: number
  /** Bytes that the passages left are expected to take; undefined where too few were stored to tell. */
  readonly left: number | undefined
}

export interface AheadOptions {
  readonly index: Pick<PassageIndex, 'count' | 'export'>
  readonly reader: AheadEncoder
  readonly onProgress?: (progress: AheadProgress) => void
  readonly signal?: AbortSignal
}

/**
 * Stores the encoder states of a table's passages, as the reader's own protocol cuts them, so that encoding them for a question is
 * a read. What is there already is passed over: run again after an interruption, it does what is left.
 * @throws disk_full, before it fills the disk or the limit, naming what is needed; the signal's reason once aborted; and the reader's errors
 */
export async function encodeIndexAhead({ index, reader, onProgress, signal }: AheadOptions): Promise<AheadProgress> {
  const { context_tokens: contextTokens } = reader.manifest.qa_defaults
  let progress: AheadProgress = { done: 0, total: await index.count(), stored: 0, bytes: 0, left: undefined }
  let contexts: string[] = []
  const flush = async (): Promise<void> => {
    const result = await withRetry(() => reader.encodeAhead({ contexts, contextTokens }, signal ? { signal } : {}), signal)
    progress = advance(progress, contexts.length, result)
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

function advance(before: AheadProgress, passages: number, result: AheadResult): AheadProgress {
  const done = before.done + passages
  const total = Math.max(before.total, done)
  const stored = before.stored + result.stored
  const bytes = before.bytes + result.bytes
  return { done, total, stored, bytes, left: stored < SAMPLE ? undefined : ((total - done) * bytes) / stored }
}

function tooLarge({ done, total, left = 0 }: AheadProgress, room: number): CodedError {
  const MB = 2 ** 20
  return new CodedError(
    'disk_full',
    `The encoder states of the ${total - done} passages that are left take about ${Math.ceil(left / MB)} MB, and there is room for ${Math.floor(room / MB)} MB: ` +
      'raise CEPE_STATE_DISK_MB, or free space. What is stored is kept and used; passages without states are encoded when they are asked for.',
    { field: 'CEPE_STATE_DISK_MB' },
  )
}

/** Tried again where the reader is busy or its process was replaced: work of hours must not end with one child. */
async function withRetry<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof CodedError) || !PASSING.includes(error.code) || attempt === ATTEMPTS) throw error
      await sleep(2 ** attempt * 250, undefined, signal ? { signal } : {})
    }
  }
}
