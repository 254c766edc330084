import { isUtf8 } from 'node:buffer'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet'
import { at } from '../../../base/at.ts'
import { CodedError, invalidCorpus, reasonOf } from '../../../base/errors.ts'
import { EXACT_DIGITS } from '../../../base/json.ts'
import { chooseColumns, FIELDS, type TableShape } from '../column-map.ts'
import type { RawRow, ReadOptions, Rejected } from '../contract.ts'
import { boundedCompressors, boundOnRows, MAX_READ_BYTES, rowGroups, rowRanges, type RowRange } from './parquet-bounds.ts'

const DAY_MS = 86_400_000
/** Text that is not UTF-8 stays bytes, a date has no time, and fractions of a second keep their digits. */
const PARSERS = {
  timestampFromMicroseconds: (micros: bigint) => timestamp(micros, 1000n),
  timestampFromNanoseconds: (nanos: bigint) => timestamp(nanos, 1_000_000n),
  dateFromDays: (days: number) => new Date(days * DAY_MS).toISOString().replace(/T.*/, ''),
  stringFromBytes: (bytes: Uint8Array | undefined) =>
    bytes && isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : bytes,
}

function timestamp(value: bigint, perMillisecond: bigint): Date | string {
  const rest = ((value % perMillisecond) + perMillisecond) % perMillisecond
  const date = new Date(Number((value - rest) / perMillisecond))
  const digits = String(perMillisecond + rest)
    .slice(1)
    .replace(/0+$/, '')
  return rest === 0n ? date : date.toISOString().replace('Z', `${digits}Z`)
}

type Column = ReturnType<typeof parquetSchema>

export async function openParquet(path: string) {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  return { file, metadata, schema: parquetSchema(metadata) }
}

interface RowsChoice {
  /** Rows that are read at once. Default: the row groups. */
  readonly ranges?: Iterable<RowRange>
  readonly columns?: string[]
  /** Bytes that the pages of a range may expand to. */
  readonly mostBytes?: number
}

/** The rows of a Parquet file with their numbers, from 1. One range is in memory at a time. */
export async function* parquetRows(
  { file, metadata }: Pick<Awaited<ReturnType<typeof openParquet>>, 'file' | 'metadata'>,
  { ranges = rowGroups(metadata), mostBytes = MAX_READ_BYTES, ...columns }: RowsChoice = {},
): AsyncGenerator<readonly [number: number, row: Record<string, unknown>]> {
  for (const [rowStart, rowEnd] of ranges) {
    const compressors = boundedCompressors(mostBytes)
    const rows = await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors, parsers: PARSERS, ...columns })
    for (const [i, row] of rows.entries()) yield [rowStart + i + 1, row]
  }
}

/** A value as its column declares it: decimals with their digits (1.15, not 1.1500000000000001), local times without a zone. */
export function declared(value: unknown, column: Column | undefined): unknown {
  const [type, time] = [column?.element.logical_type, value instanceof Date ? value.toISOString() : value]
  if (type?.type === 'TIMESTAMP' && !type.isAdjustedToUTC && typeof time === 'string') return time.replace('Z', '')
  // 0.1 of 32 bits is not 0.10000000149011612.
  if (typeof value === 'number' && column?.element.type === 'FLOAT')
    return (
      [7, 8].map((digits) => Number(value.toPrecision(digits))).find((one) => Math.fround(one) === value) ?? Number(value.toPrecision(9))
    )
  if (typeof value === 'number')
    return column?.element.converted_type === 'DECIMAL' && !Number.isInteger(value) ? Number(value.toPrecision(EXACT_DIGITS)) : value
  if (!column?.children.length || typeof value !== 'object' || value === null) return value
  // The values of a list are below a group that repeats, or are that group.
  const [group] = column.children
  if (Array.isArray(value)) return value.map((one: unknown) => declared(one, group?.children[0] ?? group))
  const childOf = (name: string): Column | undefined => column.children.find(({ element }) => element.name === name)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, declared(one, childOf(name))]))
}

/** A column and the fields in it. */
function pathsIn({ path, children }: Column): string[] {
  return [path.join('.'), ...children.flatMap(pathsIn)]
}

/** @throws corpus_invalid for missing columns, metadata in two forms, and a field that is named twice. */
function columnsOf(children: Column['children'], readsMetadata: boolean, shape: TableShape) {
  if (shape.columns?.isNumbered === true)
    throw invalidCorpus('columns', 'The columns of a Parquet file have names: give those in columns, not numbers.')
  const names = children.map(({ element }) => element.name)
  const known = names.includes('_id') && !names.includes('id') ? { id: '_id' } : {}
  const { of, metadata, missing, unread } = chooseColumns(names, shape, { where: 'The Parquet file', readsMetadata, known })
  const message = `The Parquet file has no column ${missing.join(' and ')} (found: ${names.slice(0, 8).join(', ')}). Say which columns are which (columns: text=content,id=docid).`
  if (missing.length > 0) throw invalidCorpus(missing[0], message)
  const read = [...new Set([...Object.values(of), ...metadata.map((one) => one.at)])]
  const paths = read.flatMap((i) => pathsIn(at(children, i)))
  const twice = paths.find((path, i) => paths.indexOf(path) < i)
  if (twice !== undefined) throw invalidCorpus(twice, `The Parquet file names the column ${twice} twice: keep one.`)
  const nested = read.filter((i) => at(children, i).children.length > 0)
  const nameOf = (i: number): string => at(names, i)
  const fields = metadata.map((one) => ({ name: one.name, column: at(children, one.at) }))
  return { of: FIELDS.map((field) => children[of[field] ?? -1]), fields, read: read.map(nameOf), nested: nested.map(nameOf), unread }
}

/**
 * Reads rows of a Parquet file with the columns id (or _id) and text, and title, source and metadata if present, or with mapped columns;
 * uncompressed or compressed with Snappy, gzip, Zstandard, Brotli or LZ4. The directory is at the end of the file, so streams are not
 * supported.
 * @throws corpus_invalid for a damaged file, missing columns or too large groups of nested ones, payload_too_large for a bomb
 */
export async function* readParquet(
  path: string,
  { metadata: readsMetadata = true, shape = {}, onShare }: ReadOptions,
): AsyncGenerator<RawRow | Rejected> {
  try {
    const parquet = await openParquet(path)
    const { file, metadata, schema } = parquet
    const columns = columnsOf(schema.children, readsMetadata, shape)
    const count = boundOnRows(file.byteLength)
    const ranges = rowRanges(metadata, columns.read, columns.nested)
    for await (const [line, row] of parquetRows(parquet, { ranges, columns: columns.read })) {
      const raw = rowOf(line, row, columns)
      count(raw)
      const broken = FIELDS.find((field) => raw[field] instanceof Uint8Array)
      yield broken === undefined ? raw : { line, reason: 'bad_utf8', detail: `The ${broken} is not valid UTF-8.` }
      onShare?.(line / Number(metadata.num_rows))
    }
  } catch (error) {
    if (error instanceof CodedError) throw error
    // Errors of the language are those of a reader that was led astray.
    const reason = error instanceof TypeError || error instanceof RangeError ? 'it is damaged' : reasonOf(error)
    throw invalidCorpus('parquet', `The Parquet file cannot be read: ${reason}.`, error)
  }
}

function rowOf(line: number, row: Record<string, unknown>, { of, fields, unread }: ReturnType<typeof columnsOf>): RawRow {
  const valueOf = (column: Column): unknown => declared(row[column.element.name], column)
  const [id, text, title, source, metadata] = of.map((column) => column && valueOf(column))
  // Null values are absent.
  const given = fields
    .map(({ name, column }) => [name, valueOf(column)] as const)
    .filter(([, value]) => value !== undefined && value !== null)
  const own = fields.length === 0 ? metadata : Object.fromEntries(given)
  return { line, id: typeof id === 'bigint' ? String(id) : id, text, title, source, metadata: own, unread }
}
