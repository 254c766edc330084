import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { at, given } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { closing, sha256OfFile } from '../../../base/files.ts'
import type { Passage } from '../../../index/contract.ts'
import { IdSet } from '../../../index/id-set.ts'
import { SPLIT_WORDS, type FileProblem, type ReadItem, type Rejected } from '../../../index/read/contract.ts'
import { readPassageFile } from '../../../index/read/read.ts'
import { prefixOf, rowIds } from '../../../index/read/row-ids.ts'
import { checkRow } from '../../../index/read/validate.ts'
import { isPageAddress } from '../../crawl/page-address.ts'
import type { DocumentPassages } from '../../documents/schema.ts'
import { typeOfName } from '../../documents/type.ts'
import { createPassageReader, type PassageReader } from '../../documents/corpus/reader.ts'
import { DocumentError, NEEDS_OCR } from '../../documents/errors.ts'
import { TABLE, fileOf, listFolder, sourceOf, unreadable, type FolderFile, type LeftOutFile, type ListedFile } from './list.ts'
import { corpusReadOptions } from './reading.ts'
import type { JobOptions } from '../record/schema.ts'
import { listSpool } from './spool.ts'

/** Limits of a file: milliseconds of CPU time that reading it takes, and its bytes; languages of OCR, which is off if empty. */
export const DEFAULT_FILE_BOUNDS = { parseMs: 30_000, maxBytes: 32 * 2 ** 20, ocr: '' }
export type FileBounds = Readonly<typeof DEFAULT_FILE_BOUNDS>

export interface FolderSource {
  readonly path: string
  /** Names of files in the folder. Default: all. */
  readonly only?: readonly string[] | undefined
  /** Whether to read tables too. */
  readonly tables?: boolean | undefined
  /** The folder contains spooled files of an upload. */
  readonly uploaded?: boolean | undefined
}

interface FolderReading {
  readonly options: JobOptions
  readonly bounds: FileBounds
  readonly signal: AbortSignal
  /** Called with the share of the files read so far, 0 to 1. */
  readonly onShare?: (share: number) => void
  /** Called with the source of each file that is readable and has no passage. */
  readonly onEmptied?: (source: string) => void
  /** Returns the stored passages of an unchanged file. */
  readonly stored?: (source: string) => AsyncIterable<Passage>
}

/** Files that are read ahead of the consumer, beyond the reader's concurrency. */
const AHEAD = 2

const WITHOUT_PASSAGES: readonly FileProblem[] = ['without_text', 'scanned']

type Items = Iterable<ReadItem> | AsyncIterable<ReadItem>

/** Reads files as passages, in child processes that end with the iteration. @throws the signal's reason once aborted */
export async function* readFiles(files: readonly ListedFile[], reading: FolderReading): AsyncGenerator<ReadItem> {
  // Refuses invalid options also where no file is a table.
  corpusReadOptions(reading.options)
  await using reader = closing(createPassageReader(reading.bounds))
  yield* folderItems(files, reading, reader)
}

/** @throws not_found for a missing folder */
export async function filesOf({ path, only, tables, uploaded }: FolderSource): Promise<ListedFile[]> {
  if (uploaded === true) return listSpool(path)
  return only === undefined ? listFolder(path, tables) : Promise.all(only.map((name) => fileOf(path, name)))
}

/** Yields the passages of files and the files left out, in order. Line 0 stands for a whole file. */
async function* folderItems(files: readonly ListedFile[], reading: FolderReading, reader: PassageReader): AsyncGenerator<ReadItem> {
  const ahead: Promise<Items>[] = []
  const seen = new IdSet()
  let next = 0
  for (let taken = 0; taken < files.length; taken++) {
    for (; next < Math.min(files.length, taken + reader.atOnce + AHEAD); next++) {
      const items = itemsOf(at(files, next), reading, reader)
      // Awaited later: without a handler, an earlier failure would be unhandled.
      items.catch(() => undefined)
      ahead.push(items)
    }
    for await (const item of (await ahead.shift()) ?? []) {
      if ('passage' in item && !seen.add(item.passage.id)) yield repeated(item)
      else yield item
    }
    reading.onShare?.((taken + 1) / files.length)
  }
}

/** The passages of a file, or why it is left out. Rows of a table are read as they are iterated. @throws errors not caused by the file */
async function itemsOf(file: ListedFile, reading: FolderReading, reader: PassageReader): Promise<Items> {
  const { options, bounds, signal, stored } = reading
  const { maxBytes, ocr } = bounds
  const leaveOut = (problem: FileProblem, detail: string): Rejected[] => {
    if (WITHOUT_PASSAGES.includes(problem)) reading.onEmptied?.(sourceOf(file.file, options.label))
    return [{ file: file.file, line: 0, reason: problem, detail }]
  }
  if ('problem' in file) return leaveOut(file.problem, file.detail)
  if ('unchanged' in file) return stored === undefined ? [] : storedItems(file.file, stored)
  const { sha256 } = file
  // A file that is gone is reported by its reader.
  if (sha256 !== undefined && (await sha256OfFile(file.path, signal).catch(() => sha256)) !== sha256)
    return leaveOut('unreadable', 'It has changed on the disk since it was uploaded: upload it again.')
  // The type of a web page is declared by its server, not by its name.
  if (file.mediaType === undefined && TABLE.test(file.file)) return tableItems(file, reading)
  if (ocr === '' && typeOfName(file.file) === 'image') return leaveOut('not_supported', NEEDS_OCR)
  const bytes = await bytesOf(file, maxBytes)
  if (!Buffer.isBuffer(bytes)) return leaveOut(bytes.problem, bytes.detail)
  try {
    const name = path.basename(isPageAddress(file.file) ? new URL(file.file).pathname : file.file)
    const hints = { encoding: file.encoding ?? options.encoding, mediaType: file.mediaType }
    const words = options.split_words ?? SPLIT_WORDS.byDefault
    return documentItems(file, await reader.read({ bytes, name, ...hints }, { words, signal }), reading)
  } catch (error) {
    if (error instanceof DocumentError) return leaveOut(error.problem, error.message)
    throw error
  }
}

async function bytesOf({ file, path, bytes }: FolderFile, maxBytes: number): Promise<Buffer | LeftOutFile> {
  const problem = (size: number) => `The file has ${size} bytes; ${maxBytes} are read at most (CEPE_DOCUMENT_MB).`
  if (bytes > maxBytes) return { file, problem: 'too_large', detail: problem(bytes) }
  try {
    // The file may have been replaced since it was listed: do not follow a link, do not block on a pipe.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size } = await handle.stat()
    return size > maxBytes ? { file, problem: 'too_large', detail: problem(size) } : await handle.readFile()
  } catch (error) {
    return unreadable(file, error)
  }
}

/** Rejects an id of an earlier file: different tables may contain the same ids. */
function repeated({ passage, line, lines, file }: Extract<ReadItem, { readonly passage: Passage }>): Rejected {
  const detail = `The id "${passage.id}" occurred before in another file; its first passage is kept.`
  return { ...given({ file }), line, ...given({ lines }), reason: 'duplicate_id', detail }
}

/** Yields the rows of a table, and a rejection if it cannot be read completely. */
async function* tableItems({ file, path, encoding }: FolderFile, { options }: FolderReading): AsyncGenerator<ReadItem> {
  const own = { encoding: encoding ?? options.encoding, source: sourceOf(file, options.label) }
  try {
    for await (const item of readPassageFile(path, { ...corpusReadOptions(options), ...own })) yield { ...item, file }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    yield { file, line: 0, reason: 'damaged', detail: error.message }
  }
}

/** Yields the stored passages of an unchanged file. */
async function* storedItems(source: string, stored: NonNullable<FolderReading['stored']>): AsyncGenerator<ReadItem> {
  const prefix = prefixOf(source)
  const passages: Passage[] = []
  for await (const passage of stored(source)) if (passage.id.startsWith(prefix)) passages.push(passage)
  const whole = { source, prefix, rest: passages.map(({ id }) => id.slice(prefix.length)) }
  for (const [i, passage] of passages.entries()) yield { file: source, line: 0, passage, ...(i === passages.length - 1 && { whole }) }
}

function documentItems({ file, modified }: FolderFile, read: DocumentPassages, { options, onEmptied }: FolderReading): ReadItem[] {
  const { passages, type, warnings } = read
  const source = sourceOf(file, options.label)
  const prefix = prefixOf(source)
  // By the content, not the place: a passage keeps its id while its title and text stay the same.
  const identified = rowIds({ ids: 'hash' }, source)
  const time = modified !== undefined && { modified: modified.toISOString() }
  const items = passages.map(({ title, text, heading, page }, i) => {
    const metadata = { ...(heading !== '' && { heading }), kind: type, ...time, ...(page !== undefined && { page }), position: i + 1 }
    const row = { line: 0, id: undefined, title, text, source, metadata: options.no_metadata === true ? undefined : metadata }
    return { ...checkRow(identified(row)), file }
  })
  const kept = items.filter((item) => 'passage' in item)
  if (kept.length === 0) onEmptied?.(source)
  const whole = { source, prefix, rest: kept.map(({ passage }) => passage.id.slice(prefix.length)) }
  const told = warnings.length > 0 && { warnings }
  return items.map((item) => ({ ...item, ...(item === kept[0] && told), ...(item === kept.at(-1) && { whole }) }))
}
