import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema, type Compressors } from 'hyparquet'
import { compressors as decoders } from 'hyparquet-compressors'
import { CodedError, messageOf } from '../../base/errors.ts'
import type { RawRow } from './contract.ts'

/** Each read decodes its pages anew, so few rows cost as much as many; this many hold the event loop for about 60 ms. */
const ROWS_PER_READ = 8192
/** Writers make pages of about a megabyte; one that says it expands to more than this is no honest one. */
const MAX_PAGE_BYTES = 256 * 2 ** 20
const FIELD_PREFIX = 'metadata.'

/** Snappy, gzip, Zstandard, Brotli and LZ4, with a bound on what a page may expand to. */
export const boundedCompressors: Compressors = Object.fromEntries(
  Object.entries(decoders).map(([codec, decode]) => [
    codec,
    (input: Uint8Array, outputLength: number) => {
      if (outputLength > MAX_PAGE_BYTES)
        throw new CodedError(
          'payload_too_large',
          `A page of the Parquet file says that it expands to ${outputLength} bytes; at most ${MAX_PAGE_BYTES} are read.`,
          { field: 'parquet' },
        )
      return decode(input, outputLength)
    },
  ]),
)

function textColumn(value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

interface Columns {
  readonly id: string
  /** Columns to read. */
  readonly read: string[]
  /** Columns `metadata.<name>`. */
  readonly fields: readonly string[]
}

/** @throws corpus_invalid for missing columns, or metadata in a form that is not read. */
function columnsOf(children: ReturnType<typeof parquetSchema>['children'], wantsMetadata: boolean): Columns {
  const names = children.map(({ element }) => element.name)
  const id = names.includes('id') ? 'id' : '_id'
  const missing = [id, 'text'].find((name) => !names.includes(name))
  if (missing !== undefined) {
    throw new CodedError(
      'corpus_invalid',
      `The Parquet file has no column ${missing === '_id' ? 'id' : missing} (found: ${names.slice(0, 8).join(', ')}).`,
      { field: missing },
    )
  }
  const metadata = wantsMetadata ? names.filter((name) => name === 'metadata' || name.startsWith(FIELD_PREFIX)) : []
  // Nested columns can only be decoded a whole row group at a time.
  const nested = children.find(({ element, children: inner }) => inner.length > 0 && metadata.includes(element.name))?.element.name
  if (nested !== undefined) {
    throw new CodedError(
      'corpus_invalid',
      `The Parquet file's column ${nested} is nested: write the metadata as a string of JSON, or each field as a column metadata.<name>; or leave it unread (--no-metadata).`,
      { field: nested },
    )
  }
  if (metadata.includes('metadata') && metadata.length > 1) {
    throw new CodedError('corpus_invalid', 'The Parquet file has a column metadata and columns metadata.<name>: use one of the two ways.', {
      field: 'metadata',
    })
  }
  const read = [id, 'text', ...['title', 'source'].filter((name) => names.includes(name)), ...metadata]
  return { id, read, fields: metadata.filter((name) => name.startsWith(FIELD_PREFIX)) }
}

/**
 * Rows of a Parquet file with the columns id (or _id) and text, and title, source and metadata if present; uncompressed or
 * compressed with Snappy, gzip, Zstandard, Brotli or LZ4. Parquet keeps its directory at the end, so it is read from a
 * file, not from a stream.
 * @param metadata false to leave metadata unread.
 * @throws corpus_invalid for a damaged file, missing columns or nested metadata, payload_too_large for a bomb.
 */
export async function* readParquet(
  path: string,
  { metadata: wantsMetadata = true }: { readonly metadata?: boolean } = {},
): AsyncGenerator<RawRow> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const { id, read, fields } = columnsOf(parquetSchema(metadata).children, wantsMetadata)
    const total = Number(metadata.num_rows)
    for (let rowStart = 0; rowStart < total; rowStart += ROWS_PER_READ) {
      const rowEnd = Math.min(total, rowStart + ROWS_PER_READ)
      const rows: Record<string, unknown>[] = await parquetReadObjects({
        file,
        metadata,
        columns: read,
        rowStart,
        rowEnd,
        compressors: boundedCompressors,
      })
      for (const [i, row] of rows.entries()) {
        const found = fields.length === 0 ? row.metadata : fieldsOf(row, fields)
        yield { line: rowStart + i + 1, id: textColumn(row[id]), text: row.text, title: row.title, source: row.source, metadata: found }
      }
    }
  } catch (error) {
    if (error instanceof CodedError) throw error
    throw new CodedError('corpus_invalid', `The Parquet file cannot be read: ${messageOf(error)}.`, { field: 'parquet', cause: error })
  }
}

/** Fields from columns of their own; those without a value in this row are absent. */
function fieldsOf(row: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> {
  const given = fields.map((column) => [column.slice(FIELD_PREFIX.length), row[column]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null))
}
