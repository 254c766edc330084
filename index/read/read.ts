import { stat } from 'node:fs/promises'
import { IdSet } from '../id-set.ts'
import { readCsv } from './formats/csv.ts'
import { readArrayElements } from './formats/json-array.ts'
import { splitDocument } from './units.ts'
import { expanded } from './expand.ts'
import { readJsonl } from './formats/jsonl.ts'
import { readParquet } from './formats/parquet.ts'
import { rowIds } from './row-ids.ts'
import { foreignKind, guessText, isGzip, isParquet, listInObject, peek, resumed } from './sniff.ts'
import { readTsv } from './formats/tsv.ts'
import { READ_LIMITS, type RawRow, type ReadItem, type ReadOptions, type Rejected } from './contract.ts'
import { checkRow } from './validate.ts'
import { markedEncoding, strictDecoder, unmarkedUtf16 } from './decode.ts'
import { attempt, CodedError, invalidCorpus, notFound, osCode } from '../../base/errors.ts'
import { fileBytes, readLines } from '../../base/files.ts'

const NEWLINE = 0x0a

/** Converts a text to UTF-8 without byte order mark. @throws corpus_invalid if it is not in that encoding */
async function* toUtf8(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer, void> {
  const decoder = strictDecoder(encoding)
  try {
    for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }))
    yield Buffer.from(decoder.decode())
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw invalidCorpus('file', `The file is not valid ${encoding.toUpperCase()}: name its encoding, or convert it to UTF-8.`, error)
  }
}

/** Converts a text to UTF-8 from its first line on that is not UTF-8; unchanged if an earlier one is, beyond ASCII. @throws as `toUtf8` */
async function* toUtf8WhereNeeded(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer, void> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const isAscii = (text: string): boolean => !/[^\u0000-\u007f]/.test(text)
  const iterator = bytes[Symbol.asyncIterator]()
  let held = Buffer.alloc(0)
  try {
    for (;;) {
      const next = await iterator.next()
      if (next.done !== true) held = Buffer.concat([held, next.value])
      const end = next.done === true ? held.length : held.lastIndexOf(NEWLINE) + 1
      const text = attempt(() => utf8.decode(held.subarray(0, end)), undefined)
      if (text === undefined) return yield* toUtf8(resumed([held], iterator), encoding)
      if (!isAscii(text)) return yield* resumed([held], iterator)
      yield held.subarray(0, end)
      held = held.subarray(end)
      if (next.done === true) return
    }
  } finally {
    await iterator.return?.()
  }
}

/** Bytes read to detect the format. */
const HEAD = 4096

/** Most columns of a file that a warning names. */
const MOST_UNREAD = 32

async function* accept(rows: AsyncIterable<RawRow | Rejected>, options: ReadOptions): AsyncGenerator<ReadItem> {
  const { splitWords, source, metadata = true, shape = {} } = options
  const maxTextBytes = splitWords === undefined ? READ_LIMITS.textBytes : READ_LIMITS.lineBytes
  const seen = new IdSet()
  const identified = rowIds(shape, source)
  const unread = new Set<string>()
  for await (const row of rows) {
    const item = 'reason' in row ? row : checkRow(identified(metadata ? row : { ...row, metadata: undefined }), { maxTextBytes })
    if ('reason' in item) {
      yield item
      continue
    }
    const { passage: given, leftOut, ...at } = item
    const fresh = ('unread' in row ? row.unread : []).filter((name) => unread.size < MOST_UNREAD && !unread.has(name))
    for (const name of fresh) unread.add(name)
    const shown = fresh.map((name) => name.slice(0, 64).toWellFormed()).join(', ')
    const warnings = [`Not read: the columns ${shown}. Name them in columns (metadata.<name>=<column>) to keep them.`]
    let told = { ...(leftOut && { leftOut }), ...(shown !== '' && { warnings }) }
    // An empty string says that there is none, as exports do.
    const isNamed = given.source !== undefined || ('source' in row && row.source === '')
    const passage = isNamed || source === undefined ? given : { ...given, source }
    if (!seen.add(passage.id)) {
      yield { ...at, reason: 'duplicate_id', detail: `The id "${passage.id}" occurred before in this file; its first passage is kept.` }
      continue
    }
    if (splitWords === undefined) yield { ...at, passage, ...told }
    else
      for (const part of splitDocument(passage, splitWords)) {
        yield { ...at, ...part, ...told }
        told = {}
      }
  }
}

/** The rows of a text file, in the given or detected format. */
function rowsOf(head: Buffer, all: AsyncIterable<Buffer>, options: ReadOptions): AsyncIterable<RawRow | Rejected> {
  const guess = guessText(head)
  const { format = guess.format, quotes = true, shape = {} } = options
  const table = { quotes, shape }
  const { delimiter = ',', skipLines = 0 } = guess
  if (format === 'csv') return readCsv(all, { ...table, delimiter, skipLines })
  if (format === 'json') return readJsonl(readArrayElements(all, READ_LIMITS.lineBytes), shape.columns)
  const lines = readLines(all, READ_LIMITS.lineBytes)
  return format === 'jsonl' ? named(readJsonl(lines, shape.columns), listInObject(head)) : readTsv(lines, table)
}

/** @throws corpus_invalid if the first line of JSON lines is no passage and the file looks like one object with a list of that name */
async function* named(rows: AsyncIterable<RawRow | Rejected>, list: string | undefined): AsyncGenerator<RawRow | Rejected> {
  let isFirst = true
  for await (const row of rows) {
    if (isFirst && list !== undefined && ('reason' in row || row.text === undefined))
      throw invalidCorpus(
        list,
        `The file is one JSON object that holds its passages in the list "${list}": send the list itself, as a JSON array or JSON lines (jq -c '.["${list}"][]').`,
      )
    isFirst = false
    yield row
  }
}

/** Expands compressed input and converts it to UTF-8. */
async function* plainText(bytes: AsyncIterable<Buffer>, encoding?: string): AsyncGenerator<Buffer> {
  const { head, all } = await peek(expanded(bytes), 4)
  const utf16 = markedEncoding(head) ?? unmarkedUtf16(head)
  if (utf16?.startsWith('utf-16') === true) yield* toUtf8(all, utf16)
  else yield* encoding === undefined || isParquet(head) ? all : toUtf8WhereNeeded(all, encoding)
}

/**
 * Reads the passages of a corpus and its rejected lines. Compression and UTF-16 are detected from the first bytes. Memory: 16 bytes per id
 * for deduplication, and one line.
 * @throws corpus_invalid or payload_too_large if the whole file is rejected (no header, damaged gzip, a bomb); unsupported_media_type for
 * Parquet, which needs a file
 */
export async function* readPassages(bytes: AsyncIterable<Buffer>, options: ReadOptions = {}): AsyncGenerator<ReadItem> {
  const { head, all } = await peek(plainText(bytes, options.encoding), HEAD)
  const message = 'Parquet cannot be read from a stream or from gzip. Over HTTP, put the file into the import folder and name it.'
  if (isParquet(head) || options.format === 'parquet') throw new CodedError('unsupported_media_type', message, { field: 'format' })
  const foreign = foreignKind(head)
  if (foreign !== undefined) throw invalidCorpus('file', `The file ${foreign}.`)
  let items = 0
  for await (const item of accept(rowsOf(head, all, options), options)) {
    items++
    yield item
  }
  if (items === 0) throw invalidCorpus('file', 'The file holds no passages.')
}

/** Reports the progress of a byte stream. */
async function* told(chunks: AsyncIterable<Buffer>, bytes: number, onShare: ReadOptions['onShare']): AsyncGenerator<Buffer> {
  let read = 0
  for await (const chunk of chunks) {
    yield chunk
    read += chunk.length
    onShare?.(bytes > 0 ? Math.min(1, read / bytes) : 0)
  }
}

/**
 * As `readPassages`, from a file; supports Parquet.
 * @example
 * ```ts
 * import { readPassageFile } from './index/read/read.ts'
 *
 * for await (const item of readPassageFile('passages.tsv')) if ('passage' in item) console.log(item.passage.id)
 * ```
 */
export async function* readPassageFile(path: string, options: ReadOptions = {}): AsyncGenerator<ReadItem> {
  const status = options.onShare && (await stat(path).catch(() => undefined))
  const bytes = fileBytes(path, 256 * 1024)
  try {
    const { head, all } = await peek(bytes, 4)
    if (isParquet(head)) yield* accept(readParquet(path, options), options)
    else if (options.format === 'parquet' && !isGzip(head))
      throw invalidCorpus('format', 'The file is no Parquet: its first bytes are not PAR1.')
    else yield* readPassages(told(all, status?.size ?? 0, options.onShare), options)
  } catch (error) {
    if (osCode(error) === 'ENOENT') throw notFound('file', `The file ${path} does not exist.`, error)
    if (osCode(error) === 'EISDIR') throw invalidCorpus('file', `${path} is a folder; name a file.`, error)
    throw error
  } finally {
    await bytes.return(undefined)
  }
}
