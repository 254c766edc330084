import { basename } from 'node:path'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import { tableBytes } from '../../index/ingest/space.ts'
import type { ReadItem } from '../../index/read/contract.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { corpusReadOptions, ReadingNotes } from './sources/reading.ts'
import { filesOf, leftOutShare, readFiles, type FileBounds, type FolderSource } from './sources/read.ts'
import { rejectedShare, type JobOptions } from './record/schema.ts'

/** Result of a dry run: numbers of lines and passages, the latest rejected lines, and fields that would be dropped. */
export type CheckReport = Awaited<ReturnType<typeof checkItems>>

export interface Checking {
  readonly options: JobOptions
  /** Numbers per vector. */
  readonly dimension: number
  /** Called with each passage and reject. */
  readonly onItem?: ((item: ReadItem) => void) | undefined
}

/** Validates a corpus as a job would, without writing anything. @throws corpus_invalid, not_found, payload_too_large */
export function checkFile(path: string, checking: Checking) {
  const items = readPassageFile(path, corpusReadOptions(checking.options, basename(path)))
  return checkItems(items, rejectedShare(checking.options), checking)
}

/** Like `checkFile`, for the documents of a folder. @throws not_found */
export async function checkFolder(source: FolderSource, bounds: FileBounds, checking: Checking) {
  const { options } = checking
  const items = readFiles(await filesOf(source), { options, bounds, signal: new AbortController().signal })
  return checkItems(items, leftOutShare(options), checking)
}

async function checkItems(items: AsyncIterable<ReadItem>, share: number, { dimension, onItem }: Checking) {
  const notes = new ReadingNotes()
  const yieldToEventLoop = eventLoopYielder()
  let [read, rejected, accepted, text] = [0, 0, 0, 0]
  let last: Pick<ReadItem, 'file' | 'line'> = { line: -1 }
  for await (const item of notes.of(items)) {
    const pause = yieldToEventLoop()
    if (pause !== undefined) await pause
    onItem?.(item)
    const { lines = 1 } = item
    if (item.line !== last.line || item.file !== last.file) read += lines
    last = item
    if ('reason' in item) rejected += lines
    else {
      accepted++
      text += Buffer.byteLength(item.passage.text) + item.passage.title.length
    }
  }
  const { rejects, warnings, files } = notes
  /** Estimated bytes of a table of these passages. */
  const bytes = tableBytes(text, accepted, dimension)
  /** Whether a job would accept the corpus: it has passages, and the share of rejected lines is allowed. */
  return { read, rejected, accepted, rejects, warnings, files, bytes, passes: accepted > 0 && rejected <= read * share }
}
