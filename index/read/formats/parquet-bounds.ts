import type { Compressors, FileMetaData } from 'hyparquet'
import { compressors as decoders } from 'hyparquet-compressors'
import { CodedError, invalidCorpus } from '../../../base/errors.ts'
import { RATIO_FROM, READ_LIMITS, type RawRow } from '../contract.ts'

/** Writers make pages of about a megabyte; a page that expands to more than this is malicious or damaged. */
const MAX_PAGE_BYTES = 256 * 2 ** 20
/** Each read decodes its pages again, so few rows cost as much as many; this many short ones block the event loop for about 60 ms. */
const MAX_ROWS = 8192
/** Bytes of rows per read: all of them are in memory. */
const ROWS_BYTES = 64 * 2 ** 20

/** Values of nested columns (lists, structs) in a row group. They can only be decoded a whole group at a time, in about 0.2 s. */
const MAX_NESTED_VALUES = 262_144

/** Bytes that the pages of one read may expand to: its rows, and other data in their pages. */
export const MAX_READ_BYTES = 512 * 2 ** 20

function bomb(message: string): CodedError {
  return new CodedError('payload_too_large', message, { field: 'parquet' })
}

/** Snappy, gzip, Zstandard, Brotli and LZ4, with bounds on the expanded size of a page and of all. Sizes in the file are not trusted. */
export function boundedCompressors(mostBytes: number): Compressors {
  let expanded = 0
  const take = (outputLength: number): void => {
    if (outputLength > MAX_PAGE_BYTES)
      throw bomb(`A page of the Parquet file declares an expanded size of ${outputLength} bytes; at most ${MAX_PAGE_BYTES} are read.`)
    expanded += outputLength
    if (expanded > mostBytes)
      throw bomb(`Rows of the Parquet file that are read at a time expand to more than ${mostBytes} bytes: write smaller pages.`)
  }
  return Object.fromEntries(
    Object.entries(decoders).map(([codec, decode]) => [
      codec,
      (input: Uint8Array, outputLength: number) => {
        take(outputLength)
        return decode(input, outputLength)
      },
    ]),
  )
}

type Chunk = FileMetaData['row_groups'][number]['columns'][number]

/** Sum of a property over the chunks of the named columns. */
function sumOf(chunks: readonly Chunk[], names: readonly string[], of: (meta: NonNullable<Chunk['meta_data']>) => bigint): number {
  return chunks.reduce((sum, { meta_data: meta }) => {
    const [name = ''] = meta?.path_in_schema ?? []
    return meta !== undefined && names.includes(name) ? sum + Number(of(meta)) : sum
  }, 0)
}

export type RowRange = readonly [from: number, to: number]

/** The rows of each group. */
export function* rowGroups({ row_groups: groups }: FileMetaData): Generator<RowRange> {
  let start = 0
  for (const { num_rows: count } of groups) {
    yield [start, start + Number(count)]
    start += Number(count)
  }
}

/**
 * Row ranges to read at a time: within a row group and bounded in bytes; whole groups if a column is nested.
 * @param nested names of the nested columns
 * @throws corpus_invalid for a group with too many values in nested columns
 */
export function* rowRanges(
  { row_groups: groups }: FileMetaData,
  columns: readonly string[],
  nested: readonly string[],
): Generator<RowRange> {
  let start = 0
  for (const { num_rows: count, columns: chunks } of groups) {
    const end = start + Number(count)
    const bytes = sumOf(chunks, columns, ({ total_uncompressed_size: size }) => size)
    const values = sumOf(chunks, nested, ({ num_values: number }) => number)
    if (nested.length > 0 && (values > MAX_NESTED_VALUES || bytes > ROWS_BYTES))
      throw invalidCorpus(
        'parquet',
        `A row group of the Parquet file has ${values} values in nested columns (${nested.join(', ')}) and ${bytes} bytes; ${MAX_NESTED_VALUES} and ${ROWS_BYTES} are read: write it with smaller row groups (row_group_size=1000), or leave metadata unread (--no-metadata).`,
      )
    const fitting = Math.max(1, Math.min(MAX_ROWS, Math.floor((ROWS_BYTES * Number(count)) / Math.max(1, bytes))))
    const rows = nested.length > 0 ? Math.max(1, Number(count)) : fitting
    for (; start < end; start += rows) yield [start, Math.min(end, start + rows)]
    start = end
  }
}

/**
 * Counts characters of rows and rejects a file that is far smaller: pages and dictionaries may repeat one text a million times.
 * @throws payload_too_large above the limits
 */
export function boundOnRows(fileBytes: number): (row: RawRow) => void {
  const { expandedBytes, expansionRatio } = READ_LIMITS
  let held = 0
  return ({ id, title, text, source, metadata }) => {
    for (const value of [id, title, text, source, metadata]) held += charactersOf(value)
    if (held > expandedBytes || (held > RATIO_FROM && held > fileBytes * expansionRatio))
      throw bomb(
        `The Parquet file's rows hold more than ${held} characters in ${fileBytes} bytes: rejected as a decompression bomb (limits: ${expandedBytes} bytes, ${expansionRatio} times).`,
      )
  }
}

/** Characters of all strings in a value, nested ones included. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (value instanceof Uint8Array) return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, one) => sum + charactersOf(one), 0)
}
