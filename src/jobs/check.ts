import { basename } from 'node:path'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import { tableBytes } from '../../index/ingest/space.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { noteRejects, corpusReadOptions } from './reading.ts'
import { DEFAULT_REJECTED_SHARE, type Job, type JobOptions } from './schema.ts'

/** What indexing a file would meet. */
export interface CheckReport {
  readonly read: number
  readonly rejected: number
  /** Passages. */
  readonly accepted: number
  /** The latest rejected lines. */
  readonly rejects: Job['recent_rejects']
  /** What a table of them alone takes, roughly. */
  readonly bytes: number
  /** True if a job would go on: not more than the allowed share of lines is bad, and there are passages. */
  readonly passes: boolean
}

/**
 * Reads a corpus as a job would and writes nothing.
 * @param dimension numbers of a vector.
 * @throws as reading does: corpus_invalid, not_found, payload_too_large.
 */
export async function checkFile(path: string, options: JobOptions, dimension: number): Promise<CheckReport> {
  const rejects: Job['recent_rejects'] = []
  const yieldToEventLoop = eventLoopYielder()
  let [read, rejected, accepted, text, lastLine] = [0, 0, 0, 0, 0]
  for await (const item of noteRejects(readPassageFile(path, corpusReadOptions(options, basename(path), undefined)), rejects)) {
    const pause = yieldToEventLoop()
    if (pause !== undefined) await pause
    const { lines = 1 } = item
    if (item.line !== lastLine) read += lines
    lastLine = item.line
    if ('reason' in item) rejected += lines
    else {
      accepted++
      text += Buffer.byteLength(item.passage.text) + item.passage.title.length
    }
  }
  const passes = accepted > 0 && rejected <= read * (options.max_rejected_share ?? DEFAULT_REJECTED_SHARE)
  return { read, rejected, accepted, rejects, bytes: tableBytes(text, accepted, dimension), passes }
}
