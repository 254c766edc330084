import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet'
import { CodedError, messageOf } from '../../base/errors.ts'
import { READ_LIMITS, type RawRow, type ReadLimits } from './contract.ts'
import { boundedCompressors, boundOnRows, MAX_READ_BYTES, rowRanges } from './parquet-bounds.ts'

const FIELD_PREFIX = 'metadata.'

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
 * @param options metadata: false to leave it unread; limits: on what the rows may hold; onShare: told the share of the rows that was read.
 * @throws corpus_invalid for a damaged file, missing columns or nested metadata, payload_too_large for a bomb.
 */
export async function* readParquet(
  path: string,
  {
    metadata: wantsMetadata = true,
    limits,
    onShare,
  }: { readonly metadata?: boolean; readonly limits?: Partial<ReadLimits>; readonly onShare?: (share: number) => void } = {},
): AsyncGenerator<RawRow> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const { id, read, fields } = columnsOf(parquetSchema(metadata).children, wantsMetadata)
    const count = boundOnRows(file.byteLength, { ...READ_LIMITS, ...limits })
    for (const [rowStart, rowEnd] of rowRanges(metadata, read)) {
      const compressors = boundedCompressors(MAX_READ_BYTES)
      const rows: Record<string, unknown>[] = await parquetReadObjects({ file, metadata, columns: read, rowStart, rowEnd, compressors })
      for (const [i, row] of rows.entries()) {
        const found = fields.length === 0 ? row.metadata : fieldsOf(row, fields)
        const { text, title, source } = row
        const raw: RawRow = { line: rowStart + i + 1, id: textColumn(row[id]), text, title, source, metadata: found }
        count(raw)
        yield raw
      }
      onShare?.(rowEnd / Number(metadata.num_rows))
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
