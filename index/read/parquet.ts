import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { CodedError, messageOf } from '../../base/errors.ts'
import type { RawRow } from './contract.ts'

const ROWS_PER_READ = 1000

function textColumn(value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/**
 * Rows of a Parquet file with the columns id (or _id) and text, and title and source if present; uncompressed or Snappy.
 * Parquet keeps its directory at the end, so it is read from a file, not from a stream.
 * @throws corpus_invalid for a damaged file, another compression or missing columns.
 */
export async function* readParquet(path: string): AsyncGenerator<RawRow> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const names = metadata.schema.slice(1).map((column) => column.name)
    const idColumn = names.includes('id') ? 'id' : '_id'
    const missing = [idColumn, 'text'].find((name) => !names.includes(name))
    if (missing !== undefined) {
      throw new CodedError(
        'corpus_invalid',
        `The Parquet file has no column ${missing === '_id' ? 'id' : missing} (found: ${names.slice(0, 8).join(', ')}).`,
        { field: missing },
      )
    }
    const columns = [idColumn, 'text', ...['title', 'source'].filter((name) => names.includes(name))]
    const total = Number(metadata.num_rows)
    for (let rowStart = 0; rowStart < total; rowStart += ROWS_PER_READ) {
      const rows: Record<string, unknown>[] = await parquetReadObjects({
        file,
        metadata,
        columns,
        rowStart,
        rowEnd: Math.min(total, rowStart + ROWS_PER_READ),
      })
      for (const [i, row] of rows.entries()) {
        yield { line: rowStart + i + 1, id: textColumn(row[idColumn]), text: row.text, title: row.title, source: row.source }
      }
    }
  } catch (error) {
    if (error instanceof CodedError) throw error
    throw new CodedError('corpus_invalid', `The Parquet file cannot be read: ${messageOf(error)}.`, { field: 'parquet', cause: error })
  }
}
