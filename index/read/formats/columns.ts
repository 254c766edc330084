import { invalidCorpus } from '../../../base/errors.ts'
import { chooseColumns, type Field, type TableShape } from '../column-map.ts'
import type { Position, RawRow, Rejected } from '../contract.ts'

/** How to read a table in a text file. */
export interface TableOptions {
  /** False if quotes have no meaning: every separator ends a field, every line a record. */
  readonly quotes: boolean
  readonly shape: TableShape
}

/** Files with old Macintosh line ends are read as one line. */
function remedy(names: readonly string[], missing: readonly string[]): string {
  if (missing.join() === 'id') return 'Add one, or let ids be generated (ids: hash).'
  return names.some((name) => name.includes('\r'))
    ? 'Its lines end with a carriage return alone: convert them to newlines.'
    : 'Name the columns id, text and title in the first line, or say which columns are which (columns: text=content,id=docid; of a file without a header id=1,text=2).'
}

/**
 * Columns by the first record: a header, unless columns are numbered.
 * @returns their positions; `header`: in lower case, empty if there is none
 * @throws corpus_invalid naming a missing or repeated column
 */
export function columnsOf(first: readonly string[], line: number, shape: TableShape) {
  const count = first.length
  const isNumbered = shape.columns?.isNumbered === true
  const names = first.map((name, i) => (isNumbered ? String(i + 1) : name.trim()))
  const { missing, ...columns } = chooseColumns(names, shape, { where: `Line ${line}: the header`, anyCase: true })
  if (missing.length > 0 && isNumbered)
    throw invalidCorpus(
      'columns',
      `Line ${line} has ${count} columns: there is no column ${Math.max(...missing.map(Number))}, which columns names.`,
    )
  if (missing.length > 0)
    throw invalidCorpus(
      missing[0],
      `Line ${line}: the header has no column ${missing.join(' and ')} (found: ${first.slice(0, 8).join(', ').slice(0, 200)}). ${remedy(first, missing)}`,
    )
  return { ...columns, header: isNumbered ? [] : names.map((name) => name.toLowerCase()), count }
}
export type ColumnPositions = ReturnType<typeof columnsOf>

/** Builds a row from a record. @param separators names the separator in messages */
export function rowOf(at: Position, values: readonly string[], columns: ColumnPositions, separators: string): RawRow | Rejected {
  const { count, unread } = columns
  if (values.length < count) return { ...at, reason: 'missing_column', detail: `The line has ${values.length} of ${count} columns.` }
  const detail = `The line has ${values.length} columns instead of ${count}: quote fields that hold ${separators}.`
  if (values.length > count) return { ...at, reason: 'malformed', detail }
  if (values.every((value, i) => value.trim().toLowerCase() === columns.header[i]))
    return { ...at, reason: 'malformed', detail: 'The line repeats the header: files were joined with theirs.' }
  const valueOf = (field: Field): string | undefined => values[columns.of[field] ?? -1]
  // Empty values are absent.
  const own = Object.fromEntries(columns.metadata.flatMap(({ name, at: i }) => (values[i] ? [[name, values[i]]] : [])))
  const metadata = columns.metadata.length > 0 ? own : valueOf('metadata')
  return {
    ...at,
    id: valueOf('id'),
    text: valueOf('text'),
    title: valueOf('title'),
    source: valueOf('source') || undefined,
    metadata,
    unread,
  }
}
