import { CodedError } from '../../base/errors.ts'
import type { RawRow, Rejected } from './contract.ts'

/** Where a header puts the columns that are read; -1 where it has none. */
export interface ColumnPositions {
  readonly names: readonly string[]
  readonly count: number
  readonly id: number
  readonly text: number
  readonly title: number
  readonly source: number
  /** JSON. */
  readonly metadata: number
  /** Columns `metadata.<name>`: text. */
  readonly fields: readonly { readonly name: string; readonly at: number }[]
}

const FIELD_PREFIX = 'metadata.'

/** Old Macintosh line ends make one line of a file. */
function remedy(names: readonly string[]): string {
  return names.some((name) => name.includes('\r'))
    ? 'Its lines end with a carriage return alone: convert them to newlines.'
    : 'Start the file with a tab-separated header such as "id\\ttext\\ttitle".'
}

/** Reads a header. @throws corpus_invalid naming a missing or repeated column. */
export function columnsOf(given: readonly string[], line: number): ColumnPositions {
  const names = given.map((name) => name.trim().toLowerCase())
  const at = (name: string): number => names.indexOf(name)
  const fields = names.flatMap((name, at) =>
    name.startsWith(FIELD_PREFIX) ? [{ name: given[at]?.trim().slice(FIELD_PREFIX.length) ?? '', at }] : [],
  )
  const known = { id: at('id'), text: at('text'), title: at('title'), source: at('source'), metadata: at('metadata') }
  const columns = { names, count: names.length, ...known, fields }
  const missing = (['id', 'text'] as const).filter((name) => columns[name] < 0)
  if (missing.length > 0) {
    throw new CodedError(
      'corpus_invalid',
      `Line ${line}: the header has no column ${missing.join(' and ')} (found: ${given.slice(0, 8).join(', ').slice(0, 200)}). ${remedy(given)}`,
      { field: missing[0] },
    )
  }
  const twice =
    (['id', 'text', 'title', 'source', 'metadata'] as const).find((name) => names.lastIndexOf(name) !== columns[name]) ??
    fields.find(({ name }, i) => fields.findIndex((other) => other.name === name) !== i)?.name
  if (twice !== undefined)
    throw new CodedError('corpus_invalid', `Line ${line}: the header names the column ${twice} twice: keep one.`, { field: twice })
  if (columns.metadata >= 0 && fields.length > 0)
    throw new CodedError(
      'corpus_invalid',
      `Line ${line}: the header names metadata and metadata.${fields[0]?.name ?? ''}: give the metadata as JSON in one column, or each field in a column of its own.`,
      { field: 'metadata' },
    )
  return columns
}

/** One record by its columns. @param separators what separates the fields, for the message. */
export function rowOf(
  at: Pick<RawRow, 'line' | 'lines'>,
  values: readonly string[],
  columns: ColumnPositions,
  separators: string,
): RawRow | Rejected {
  const { count } = columns
  if (values.length < count) return { ...at, reason: 'missing_column', detail: `The line has ${values.length} of ${count} columns.` }
  if (values.length > count)
    return {
      ...at,
      reason: 'malformed',
      detail: `The line has ${values.length} columns instead of ${count}: quote fields that hold ${separators}.`,
    }
  if (values.every((value, i) => value.trim().toLowerCase() === columns.names[i]))
    return { ...at, reason: 'malformed', detail: 'The line repeats the header: files were joined with theirs.' }
  const metadata = columns.fields.length > 0 ? fieldsOf(values, columns) : values[columns.metadata]
  return {
    ...at,
    id: values[columns.id],
    text: values[columns.text],
    title: values[columns.title],
    source: values[columns.source],
    metadata,
  }
}

/** Fields from columns of their own; empty ones are absent. */
function fieldsOf(values: readonly string[], { fields }: ColumnPositions): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ name, at }) => {
      const value = values[at]?.trim()
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )
}
