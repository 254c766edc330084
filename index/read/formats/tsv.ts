import { invalidCorpus } from '../../../base/errors.ts'
import type { Line } from '../../../base/files.ts'
import { READ_LIMITS, type RawRow, type Rejected } from '../contract.ts'
import { columnsOf, rowOf, type ColumnPositions, type TableOptions } from './columns.ts'

const QUOTE = '"'
/** Most lines of one quoted field. */
const MAX_SPAN = 100

/** Position of the first quote that is not doubled; -1 if there is none. */
function loneQuote(text: string, from: number): number {
  for (let at = text.indexOf(QUOTE, from); at >= 0; at = text.indexOf(QUOTE, at + 2)) if (text[at + 1] !== QUOTE) return at
  return -1
}

/**
 * Splits one record at tabs. A field is quoted, with "" for a quote inside, if it begins with a quote and the next single quote precedes a
 * tab or the end. Other fields are literal: `"Weird Al" Yankovic` keeps its quotes.
 * @returns `open`: true if a field begins with an unclosed quote: it may continue on the next line
 */
function splitFields(record: string, quotes = true): { readonly values: string[]; readonly open: boolean } {
  if (!quotes || !record.includes(QUOTE)) return { values: record.split('\t'), open: false }
  const values: string[] = []
  let open = false
  for (let at = 0; ;) {
    const close = record[at] === QUOTE ? loneQuote(record, at + 1) : -1
    if (record[at] === QUOTE && close < 0) open = true
    if (close >= 0 && (close + 1 === record.length || record[close + 1] === '\t')) {
      values.push(record.slice(at + 1, close).replaceAll('""', QUOTE))
      at = close + 1
    } else {
      const tab = record.indexOf('\t', at)
      values.push(record.slice(at, tab < 0 ? undefined : tab))
      at = tab < 0 ? record.length : tab
    }
    if (at === record.length) return { values, open }
    at++
  }
}

/**
 * Reads rows of a tab-separated file like DPR's psgs_w100.tsv: a header names the columns (id, text; title and source if present, in any
 * order), or columns are numbered; fields are quoted as in CSV or not at all. A quoted field may span lines if none of them is a complete
 * record, so that a stray quote at the start of a field stays literal. (csv-parse reads from such a quote to the next one, over any number
 * of records.)
 * @throws corpus_invalid without a usable header
 */
export async function* readTsv(lines: AsyncIterable<Line | Rejected>, options: TableOptions): AsyncGenerator<RawRow | Rejected> {
  const records = recordsOf(options)
  for await (const line of lines) {
    if ('reason' in line) {
      yield* records.flush()
      yield line
    } else yield* records.take(line)
  }
  yield* records.flush()
  const message = 'The file is empty: passages are needed, and in TSV and CSV a header line with id, text and title before them.'
  if (records.isEmpty()) throw invalidCorpus('header', message)
}

/** Fields of held lines joined with another: 'more' while a quote is open, undefined if they are not a record. @param count of columns */
function joinedFields(held: readonly Line[], line: Line, count: number | undefined): string[] | 'more' | undefined {
  if (count === undefined || splitFields(line.text).values.length === count) return undefined
  const close = loneQuote(line.text, 0)
  const length = held.reduce((sum, { text }) => sum + text.length, line.text.length)
  const more = held.length < MAX_SPAN && length <= READ_LIMITS.lineBytes ? 'more' : undefined
  if (close < 0) return more
  if (close + 1 < line.text.length && line.text[close + 1] !== '\t') return undefined
  const { values, open } = splitFields(held.map(({ text, crlf }) => text + (crlf === true ? '\r\n' : '\n')).join('') + line.text)
  if (values.length > count) return undefined
  return open ? more : values
}

/** Makes rows of lines; the first record tells the columns. */
function recordsOf({ quotes, shape }: TableOptions) {
  let columns: ColumnPositions | undefined
  /** Lines since an open quote. */
  let held: Line[] = []

  const rowAt = (line: number, values: readonly string[], span: number): RawRow | Rejected =>
    columns === undefined
      ? { line, reason: 'malformed', detail: 'There is no header before this line.' }
      : rowOf({ line, ...(span === 1 ? {} : { lines: span }) }, values, columns, 'tabs')

  function* take(line: Line): Generator<RawRow | Rejected> {
    const [first] = held
    if (first !== undefined) {
      const joined = joinedFields(held, line, columns?.count)
      if (joined === 'more') {
        held.push(line)
        return
      }
      if (joined !== undefined) {
        const span = held.length + 1
        held = []
        yield rowAt(first.line, joined, span)
        return
      }
      yield* flush()
    }
    if (line.text.trim() === '' && !line.text.includes('\t')) return
    const { values, open } = splitFields(line.text, quotes)
    if (columns === undefined) {
      columns = columnsOf(values, line.line, shape)
      if (columns.header.length > 0) return
    }
    if (open) held.push(line)
    else yield rowAt(line.line, values, 1)
  }

  /** Yields the lines of an unclosed quote literally. */
  function* flush(): Generator<RawRow | Rejected> {
    const [first, ...later] = held
    held = []
    if (first === undefined) return
    const { values } = splitFields(first.text, quotes)
    yield values.length === columns?.count
      ? rowAt(first.line, values, 1)
      : { line: first.line, reason: 'malformed', detail: 'A quoted field is never closed.' }
    for (const line of later) yield* take(line)
  }

  return { take, flush, isEmpty: () => columns === undefined }
}
