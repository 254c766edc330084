import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { IdSet } from '../../../index/id-set.ts'
import { READ_LIMITS, type Accepted, type ReadItem, type ReadLimits, type Rejected } from '../../../index/read/contract.ts'
import { readPassageFile, type ReadOptions } from '../../../index/read/read.ts'
import { checkRow } from '../../../index/read/validate.ts'
import type { PassageReader } from '../../documents/corpus/reader.ts'
import { DocumentError } from '../../documents/errors.ts'
import type { DocumentPassages } from '../../documents/passages/contract.ts'
import { passageIds, sourceOf } from './ids.ts'
import { isTable, unreadable, type FolderFile, type LeftOutFile } from './list.ts'

export interface FolderOptions {
  readonly reader: PassageReader
  /** Words of a passage. */
  readonly words: number
  /** Stands in front of every source: "label/path". */
  readonly label?: string | undefined
  /** False to leave out what is known of each passage. */
  readonly metadata: boolean
  /** Bytes of the largest file that is read. */
  readonly maxBytes: number
  readonly limits?: Partial<ReadLimits> | undefined
  readonly signal: AbortSignal
  /** Told the share of the files that was read. */
  readonly onShare?: (share: number) => void
  /** How tables among the files are read. */
  readonly tables: Omit<ReadOptions, 'source' | 'onShare'>
}

/** Files that are read ahead of the one whose passages are taken. */
const AHEAD = 2

type Outcome = DocumentPassages | LeftOutFile | 'table'

/** The passages of files, in the order of the files, and those that are left out. A file is on line 0. */
export async function* folderItems(files: readonly (FolderFile | LeftOutFile)[], options: FolderOptions): AsyncGenerator<ReadItem> {
  const ahead: { readonly file: FolderFile | LeftOutFile; readonly outcome: Promise<Outcome> }[] = []
  const seen = new IdSet()
  let next = 0
  for (let taken = 0; taken < files.length; taken++) {
    for (; next < Math.min(files.length, taken + options.reader.atOnce + AHEAD); next++) {
      const file = at(files, next)
      const outcome = 'problem' in file ? Promise.resolve(file) : outcomeOf(file, options)
      // Awaited when its turn comes: until then nothing hears of its failure.
      outcome.catch(() => undefined)
      ahead.push({ file, outcome })
    }
    const first = ahead.shift()
    if (first === undefined) return
    for await (const item of itemsOf(first.file, await first.outcome, options)) {
      if ('passage' in item && !seen.add(item.passage.id)) yield repeated(item)
      else yield item
    }
    options.onShare?.((taken + 1) / files.length)
  }
}

/** @throws what is no fault of the file */
async function outcomeOf(file: FolderFile, { reader, words, maxBytes, signal }: FolderOptions): Promise<Outcome> {
  if (isTable(file.file)) return 'table'
  if (file.bytes > maxBytes) return tooLarge(file.file, file.bytes, maxBytes)
  const bytes = await bytesOf(file, maxBytes)
  if (!Buffer.isBuffer(bytes)) return bytes
  try {
    return await reader.read({ bytes, name: path.basename(file.file) }, { words, signal })
  } catch (error) {
    if (error instanceof DocumentError) return { file: file.file, problem: error.problem, detail: error.message }
    throw error
  }
}

async function bytesOf({ file, path }: FolderFile, maxBytes: number): Promise<Buffer | LeftOutFile> {
  try {
    // Not by a link that took the file's place, and without waiting for the writer of a pipe that did.
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { size } = await handle.stat()
      return size > maxBytes ? tooLarge(file, size, maxBytes) : await handle.readFile()
    } finally {
      await handle.close()
    }
  } catch (error) {
    return unreadable(file, error)
  }
}

function tooLarge(file: string, bytes: number, most: number): LeftOutFile {
  return { file, problem: 'too_large', detail: `The file has ${bytes} bytes; ${most} are read at most (CEPE_DOCUMENT_MB).` }
}

/** An id that an earlier file had: tables may repeat each other's. */
function repeated({ passage, line, lines, file }: Accepted): Rejected {
  const at = { ...(file !== undefined && { file }), line, ...(lines !== undefined && { lines }) }
  return { ...at, reason: 'duplicate_id', detail: `The id "${passage.id}" occurred before in another file; its first passage is kept.` }
}

/** The rows of a table; one that cannot be read to its end is named. */
async function* tableItems({ file, path }: FolderFile, { tables, label }: FolderOptions): AsyncGenerator<ReadItem> {
  try {
    for await (const item of readPassageFile(path, { ...tables, source: sourceOf(file, label) })) yield { ...item, file }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    yield { file, line: 0, reason: 'damaged', detail: error.message }
  }
}

async function* itemsOf(file: FolderFile | LeftOutFile, outcome: Outcome, options: FolderOptions): AsyncGenerator<ReadItem> {
  if (outcome === 'table') {
    if ('path' in file) yield* tableItems(file, options)
    return
  }
  if ('problem' in outcome) {
    const { problem, detail } = outcome
    yield { file: outcome.file, line: 0, reason: problem, detail } satisfies Rejected
    return
  }
  const { passages, type } = outcome
  const limits = { ...READ_LIMITS, ...options.limits }
  const source = sourceOf(file.file, options.label)
  const modified = 'modified' in file ? file.modified?.toISOString() : undefined
  const { prefix, rest } = passageIds(source, passages)
  const items: ReadItem[] = []
  for (const [i, { title, text, heading, page }] of passages.entries()) {
    const metadata = {
      ...(heading !== '' && { heading }),
      kind: type,
      ...(modified !== undefined && { modified }),
      ...(page !== undefined && { page }),
      position: i + 1,
    }
    const row = { line: 0, id: prefix + at(rest, i), title, text, source, metadata: options.metadata ? metadata : undefined }
    items.push({ ...checkRow(row, limits, limits.textBytes), file: file.file })
  }
  const kept = items.flatMap((item) => ('passage' in item ? [item.passage.id.slice(prefix.length)] : []))
  const last = items.findLastIndex((item) => 'passage' in item)
  for (const [i, item] of items.entries()) yield i === last && 'passage' in item ? { ...item, whole: { source, prefix, rest: kept } } : item
}
