import { CodedError } from '../../../base/errors.ts'
import { FIELDS, makesIds, METADATA_PREFIX, type ColumnMap, type Field, type TableShape } from '../column-map.ts'
import type { RawRow, Rejected } from '../contract.ts'

/** Column indexes of the fields; -1 if absent. */
export interface ColumnPositions extends Readonly<Record<Field, number>> {
  /** The header; empty if there is none. */
  readonly names: readonly string[]
  readonly count: number
  /** Metadata fields in columns of their own; their values are text. */
  readonly fields: readonly { readonly name: string; readonly at: number }[]
}

/** Files with old Macintosh line ends are read as one line. */
function remedy(names: readonly string[]): string {
  return names.some((name) => name.includes('\r'))
    ? 'Its lines end with a carriage return alone: convert them to newlines.'
    : 'Name the columns id, text and title in the first line, or say which columns are which (columns: text=content,id=docid; of a file without a header id=1,text=2).'
}

/** Columns by the first record: a header, unless columns are numbered. @throws corpus_invalid naming a missing or repeated column. */
export function columnsOf(given: readonly string[], line: number, shape: TableShape): ColumnPositions {
  const { columns: map } = shape
  if (map?.isNumbered === true) return numberedColumns(map, given.length, line)
  const names = given.map((name) => name.trim().toLowerCase())
  const columnOf = (field: Field): string => (map?.fields[field] ?? field).toLowerCase()
  const fields = metadataFields(given, names, map)
  const ownMetadata = map !== undefined && map.metadata.length > 0
  const columns = {
    id: shape.ids === undefined ? names.indexOf(columnOf('id')) : -1,
    text: names.indexOf(columnOf('text')),
    title: names.indexOf(columnOf('title')),
    source: names.indexOf(columnOf('source')),
    metadata: ownMetadata ? -1 : names.indexOf(columnOf('metadata')),
  }
  const isNeeded = (field: Field): boolean => field === 'text' || map?.fields[field] !== undefined || (field === 'id' && !makesIds(shape))
  const missing = [
    ...FIELDS.filter((field) => columns[field] < 0 && isNeeded(field)).map((field) => map?.fields[field] ?? field),
    ...fields.filter(({ at }) => at < 0).map(({ column }) => column),
  ]
  const [first] = missing
  if (first !== undefined) {
    throw new CodedError(
      'corpus_invalid',
      `Line ${line}: the header has no column ${missing.join(' and ')} (found: ${given.slice(0, 8).join(', ').slice(0, 200)}). ${remedy(given)}`,
      { field: first },
    )
  }
  const twice =
    FIELDS.find((field) => columns[field] >= 0 && names.lastIndexOf(columnOf(field)) !== columns[field]) ??
    fields.find(({ name }, i) => fields.findIndex((other) => other.name === name) !== i)?.name
  if (twice !== undefined)
    throw new CodedError('corpus_invalid', `Line ${line}: the header names the column ${twice} twice: keep one.`, { field: twice })
  if (columns.metadata >= 0 && fields.length > 0)
    throw new CodedError(
      'corpus_invalid',
      `Line ${line}: the header names metadata and metadata.${fields[0]?.name ?? ''}: give the metadata as JSON in one column, or each field in a separate column.`,
      { field: 'metadata' },
    )
  return { ...columns, names, count: names.length, fields }
}

/** Metadata fields in columns of their own: the requested ones, else those of the header. */
function metadataFields(
  given: readonly string[],
  names: readonly string[],
  map: ColumnMap | undefined,
): { readonly name: string; readonly column: string; readonly at: number }[] {
  if (map !== undefined && map.metadata.length > 0)
    return map.metadata.map(({ name, column }) => ({ name, column, at: names.indexOf(column.toLowerCase()) }))
  if (map?.fields.metadata !== undefined) return []
  return names.flatMap((column, at) =>
    column.startsWith(METADATA_PREFIX) ? [{ name: given[at]?.trim().slice(METADATA_PREFIX.length) ?? '', column, at }] : [],
  )
}

/** Column indexes of a file without a header. @param count columns of the first record @throws corpus_invalid for a number beyond them */
function numberedColumns({ fields, metadata }: ColumnMap, count: number, line: number): ColumnPositions {
  const at = (number: string | undefined): number => Number(number ?? 0) - 1
  const positions = {
    id: at(fields.id),
    text: at(fields.text),
    title: at(fields.title),
    source: at(fields.source),
    metadata: at(fields.metadata),
  }
  const own = metadata.map(({ name, column }) => ({ name, at: at(column) }))
  const last = Math.max(...Object.values(positions), ...own.map(({ at }) => at))
  if (last >= count)
    throw new CodedError('corpus_invalid', `Line ${line} has ${count} columns: there is no column ${last + 1}, which columns names.`, {
      field: 'columns',
    })
  return { ...positions, names: [], count, fields: own }
}

/** Builds a row from a record. @param separators names the separator in messages */
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

/** Metadata from columns of their own; empty values are absent. */
function fieldsOf(values: readonly string[], { fields }: ColumnPositions): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ name, at }) => {
      const value = values[at]
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )
}
