import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { FIELDS, makesIds, METADATA_PREFIX, type ColumnMap, type Field, type TableShape } from '../column-map.ts'
import { READ_LIMITS, type RawRow, type ReadLimits } from '../contract.ts'
import { boundedCompressors, boundOnRows, MAX_READ_BYTES, rowRanges } from './parquet-bounds.ts'

function textColumn(value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

interface Columns {
  /** Column of each field, including metadata in one column. */
  readonly of: Readonly<Partial<Record<Field, string>>>
  readonly fields: ColumnMap['metadata']
  readonly read: string[]
  /** Those that are lists or structs. */
  readonly nested: readonly string[]
}

/** @throws corpus_invalid for missing columns, or metadata in two forms. */
function columnsOf(children: ReturnType<typeof parquetSchema>['children'], wantsMetadata: boolean, shape: TableShape): Columns {
  const { fields: mapped = {}, metadata: mappedMetadata = [], isNumbered = false } = shape.columns ?? {}
  if (isNumbered)
    throw new CodedError('corpus_invalid', 'The columns of a Parquet file have names: give those in columns, not numbers.', {
      field: 'columns',
    })
  const names = children.map(({ element }) => element.name)
  const known: Record<Field, string> = {
    id: names.includes('id') ? 'id' : '_id',
    text: 'text',
    title: 'title',
    source: 'source',
    metadata: 'metadata',
  }
  const own = names
    .filter((name) => name.startsWith(METADATA_PREFIX))
    .map((column) => ({ name: column.slice(METADATA_PREFIX.length), column }))
  const fields = !wantsMetadata ? [] : mappedMetadata.length > 0 ? mappedMetadata : mapped.metadata === undefined ? own : []
  const isRead = (field: Field): boolean =>
    field === 'id' ? shape.ids === undefined : field !== 'metadata' || (wantsMetadata && mappedMetadata.length === 0)
  const isNeeded = (field: Field): boolean => field === 'text' || mapped[field] !== undefined || (field === 'id' && !makesIds(shape))
  const wanted = FIELDS.filter(isRead).map((field) => ({ field, column: mapped[field] ?? known[field] }))
  const missing =
    wanted.find(({ field, column }) => isNeeded(field) && !names.includes(column)) ?? fields.find(({ column }) => !names.includes(column))
  if (missing !== undefined) {
    const column = missing.column === '_id' ? 'id' : missing.column
    throw new CodedError(
      'corpus_invalid',
      `The Parquet file has no column ${column} (found: ${names.slice(0, 8).join(', ')}). Say which columns are which (columns: text=content,id=docid).`,
      { field: column },
    )
  }
  const present = wanted.filter(({ column }) => names.includes(column))
  const of: Columns['of'] = Object.fromEntries(present.map(({ field, column }) => [field, column]))
  if (of.metadata !== undefined && fields.length > 0) {
    throw new CodedError('corpus_invalid', 'The Parquet file has a column metadata and columns metadata.<name>: use one of the two ways.', {
      field: 'metadata',
    })
  }
  const read = [...new Set([...present, ...fields].map(({ column }) => column))]
  const nested = children.filter(({ element, children: inner }) => inner.length > 0 && read.includes(element.name))
  return { of, fields, read, nested: nested.map(({ element }) => element.name) }
}

export interface ParquetOptions {
  readonly metadata?: boolean
  readonly limits?: Partial<ReadLimits> | undefined
  readonly shape?: TableShape
  /** Called with the share of rows read so far. */
  readonly onShare?: ((share: number) => void) | undefined
}

/**
 * Reads rows of a Parquet file with the columns id (or _id) and text, and title, source and metadata if present, or with mapped columns;
 * uncompressed or compressed with Snappy, gzip, Zstandard, Brotli or LZ4. The directory is at the end of the file, so streams are not
 * supported.
 * @throws corpus_invalid for a damaged file, missing columns or too large groups of nested ones, payload_too_large for a bomb
 */
export async function* readParquet(
  path: string,
  { metadata: wantsMetadata = true, limits, shape = {}, onShare }: ParquetOptions = {},
): AsyncGenerator<RawRow> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const columns = columnsOf(parquetSchema(metadata).children, wantsMetadata, shape)
    const count = boundOnRows(file.byteLength, { ...READ_LIMITS, ...limits })
    for (const [rowStart, rowEnd] of rowRanges(metadata, columns.read, columns.nested)) {
      const compressors = boundedCompressors(MAX_READ_BYTES)
      const rows: Record<string, unknown>[] = await parquetReadObjects({
        file,
        metadata,
        columns: columns.read,
        rowStart,
        rowEnd,
        compressors,
      })
      for (const [i, row] of rows.entries()) {
        const raw = rowOf(rowStart + i + 1, row, columns)
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

function rowOf(line: number, row: Record<string, unknown>, { of, fields }: Columns): RawRow {
  const valueOf = (field: Field): unknown => (of[field] === undefined ? undefined : row[of[field]])
  return {
    line,
    id: textColumn(valueOf('id')),
    text: valueOf('text'),
    title: valueOf('title'),
    source: valueOf('source'),
    metadata: fields.length === 0 ? valueOf('metadata') : fieldsOf(row, fields),
  }
}

/** Metadata from columns of their own; null values are absent. */
function fieldsOf(row: Record<string, unknown>, fields: Columns['fields']): Record<string, unknown> {
  const given = fields.map(({ name, column }) => [name, row[column]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null))
}
