import { isUtf8 } from 'node:buffer'
import { CodedError } from '../../base/errors.ts'
import type { Line } from './lines.ts'
import type { RawRow, Rejected } from './types.ts'

const QUOTE = '"'
/** Lines that one quoted field may span: a stray quote must not swallow the rest of the file. */
const MAX_SPAN = 100

interface Fields {
  readonly values: string[]
  /** True if the text ended inside a quoted field. */
  readonly open: boolean
}

/** Splits one record at tabs with CSV double-quoting: a field is quoted if it starts with a quote, "" is a quote inside it. */
export function splitFields(record: string): Fields {
  if (!record.includes(QUOTE)) return { values: record.split('\t'), open: false }
  const values: string[] = []
  let at = 0
  for (;;) {
    let value = ''
    if (record[at] === QUOTE) {
      at++
      for (;;) {
        const end = record.indexOf(QUOTE, at)
        if (end < 0) return { values: [...values, value + record.slice(at)], open: true }
        value += record.slice(at, end)
        at = end + 1
        if (record[at] !== QUOTE) break
        value += QUOTE
        at++
      }
    }
    const tab = record.indexOf('\t', at)
    values.push(value + record.slice(at, tab < 0 ? undefined : tab))
    if (tab < 0) return { values, open: false }
    at = tab + 1
  }
}

interface Columns {
  readonly count: number
  readonly id: number
  readonly text: number
  readonly title: number
  readonly source: number
}

function readHeader(names: readonly string[]): Columns {
  const at = (name: string): number => names.findIndex((given) => given.trim().toLowerCase() === name)
  const columns = { count: names.length, id: at('id'), text: at('text'), title: at('title'), source: at('source') }
  const missing = (['id', 'text'] as const).filter((name) => columns[name] < 0)
  if (missing.length > 0) {
    throw new CodedError(
      'corpus_invalid',
      `Line 1: the header has no column ${missing.join(' and ')} (found: ${names.slice(0, 8).join(', ').slice(0, 200)}). Start the file with a tab-separated header such as "id\\ttext\\ttitle".`,
      { field: missing[0] },
    )
  }
  return columns
}

/**
 * Rows of a tab-separated file in the shape of DPR's psgs_w100.tsv: a header names the columns (id, text; title and
 * source if present, in any order), fields are quoted as in CSV. A record whose quote is never closed is rejected by
 * itself, and reading goes on at its next line.
 * @throws corpus_invalid without a usable header.
 */
export async function* readTsv(lines: AsyncIterable<Line | Rejected>): AsyncGenerator<RawRow | Rejected> {
  let columns: Columns | undefined
  let open: Line[] = []

  const row = (line: number, values: readonly string[], known: Columns): RawRow | Rejected => {
    if (values.length < known.count) {
      return { line, reason: 'missing_column', detail: `The line has ${values.length} of ${known.count} columns.` }
    }
    if (values.length > known.count) {
      return {
        line,
        reason: 'malformed',
        detail: `The line has ${values.length} columns instead of ${known.count}: quote fields that hold tabs.`,
      }
    }
    return { line, id: values[known.id], text: values[known.text], title: values[known.title], source: values[known.source] }
  }

  function* take(line: Line, atEnd: boolean): Generator<RawRow | Rejected> {
    if (!isUtf8(line.bytes)) {
      yield* giveUp()
      yield { line: line.line, reason: 'bad_utf8', detail: 'The line is not valid UTF-8.' }
      return
    }
    if (open.length === 0 && line.bytes.length === 0) return
    const held = [...open, line]
    const { values, open: stillOpen } = splitFields(held.map((part) => part.bytes.toString('utf8')).join('\n'))
    if (stillOpen && !atEnd && held.length < MAX_SPAN) {
      open = held
      return
    }
    if (stillOpen) {
      open = held
      yield* giveUp()
      return
    }
    open = []
    const first = held[0]?.line ?? line.line
    if (columns === undefined) columns = readHeader(values)
    else yield row(first, values, columns)
  }

  /** Rejects the line with the unclosed quote and reads the lines after it again, on their own. */
  function* giveUp(): Generator<RawRow | Rejected> {
    const [first, ...later] = open
    open = []
    if (first === undefined) return
    if (columns === undefined) throw new CodedError('corpus_invalid', 'Line 1: a quote in the header is never closed.', { field: 'header' })
    yield { line: first.line, reason: 'malformed', detail: 'A quoted field is never closed.' }
    for (const line of later) yield* take(line, false)
  }

  for await (const line of lines) {
    if ('bytes' in line) yield* take(line, false)
    else {
      yield* giveUp()
      yield line
    }
  }
  while (open.length > 0) yield* giveUp()
  if (columns === undefined)
    throw new CodedError('corpus_invalid', 'The file is empty: a header line such as "id\\ttext\\ttitle" and passages are needed.', {
      field: 'header',
    })
}
