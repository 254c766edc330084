import { invalidCorpus, reasonOf } from '../../../base/errors.ts'
import { isUtf8 } from 'node:buffer'
import { pipeline, Readable } from 'node:stream'
import { parse, type CsvError } from 'csv-parse'
import { columnsOf, rowOf, type ColumnPositions, type TableOptions } from './columns.ts'
import { READ_LIMITS, type Position, type RawRow, type Rejected } from '../contract.ts'

interface CsvOptions extends TableOptions {
  readonly delimiter: string
  /** Lines before the table. */
  readonly skipLines: number
}

/** Fields of a record, as bytes in Latin-1 strings, so that invalid UTF-8 can be detected. */
interface Parsed extends Position {
  readonly fields: readonly string[]
}

/** Runs the parser over a stream. Skipped records are added to `skipped`, in order. */
function records(bytes: AsyncIterable<Buffer>, options: CsvOptions, skipped: Rejected[]): AsyncIterable<Parsed> {
  let before = options.skipLines
  let blank = 0
  const upTo = (lines: number, emptyLines: number): Position => {
    before += emptyLines - blank
    blank = emptyLines
    const position = { line: before + 1, ...(lines - before > 1 ? { lines: lines - before } : {}) }
    before = Math.max(before, lines)
    return position
  }
  const parser = parse({
    delimiter: options.delimiter,
    encoding: 'latin1',
    from_line: options.skipLines + 1,
    quote: options.quotes ? '"' : false,
    relax_column_count: true,
    relax_quotes: true,
    record_delimiter: ['\r\n', '\n'],
    skip_empty_lines: true,
    max_record_size: READ_LIMITS.lineBytes,
    skip_records_with_error: true,
    // The returned value replaces the record; the parser's types only describe records.
    on_record: (fields, { lines, empty_lines }) => ({ ...upTo(lines, empty_lines), fields }) as unknown as string[],
    on_skip: (error: CsvError | undefined) => {
      const reason = error?.code === 'CSV_MAX_RECORD_SIZE' ? 'line_too_long' : 'malformed'
      const [lines, empty]: unknown[] = [error?.lines, error?.empty_lines]
      skipped.push({
        ...upTo(typeof lines === 'number' ? lines : before + 1, typeof empty === 'number' ? empty : blank),
        reason,
        detail: `${reasonOf(error ?? 'Not CSV').slice(0, 200)}.`,
      })
      return undefined
    },
  })
  return pipeline(Readable.from(bytes), parser, () => undefined) as AsyncIterable<Parsed>
}

/**
 * Reads rows of a comma- or semicolon-separated file with a header or numbered columns, quoted as in RFC 4180: a quoted field may span
 * lines. An unclosed quote consumes the rest of the file, and all those lines count as rejected.
 * @throws corpus_invalid without a usable header; errors of the source
 */
export async function* readCsv(bytes: AsyncIterable<Buffer>, options: CsvOptions): AsyncGenerator<RawRow | Rejected> {
  const skipped: Rejected[] = []
  let columns: ColumnPositions | undefined
  for await (const { fields, ...at } of records(bytes, options, skipped)) {
    while (columns !== undefined && (skipped[0]?.line ?? Infinity) < at.line) yield* skipped.splice(0, 1)
    const values = fields.map((value) => Buffer.from(value, 'latin1'))
    if (!values.every((value) => isUtf8(value))) {
      yield { ...at, reason: 'bad_utf8', detail: 'The record is not valid UTF-8.' }
      continue
    }
    // A quote after a byte order mark is no quote for the parser.
    const texts = values.map((value, i) => (i === 0 ? value.toString().replace(/^\ufeff(?:"([^]*)"$)?/, '$1') : value.toString()))
    if (columns === undefined) {
      columns = columnsOf(texts, at.line, options.shape)
      if (columns.header.length > 0) continue
    }
    yield rowOf(at, texts, columns, 'the separator')
  }
  if (columns === undefined) throw invalidCorpus('header', `The file has no readable header: ${skipped[0]?.detail ?? 'it is empty.'}`)
  yield* skipped
}
