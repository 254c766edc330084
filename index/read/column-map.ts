import { type CodedError, invalidCorpus, invalidRequest } from '../../base/errors.ts'

export const FIELDS = ['id', 'text', 'title', 'source', 'metadata'] as const
export type Field = (typeof FIELDS)[number]

/** Names of columns, or of members of JSON objects, for each field. */
export interface ColumnMap {
  readonly fields: Readonly<Partial<Record<Field, string>>>
  /** Fields of the metadata, each from a column of its own. */
  readonly metadata: readonly { readonly name: string; readonly column: string }[]
  /** Columns are numbered from 1: the file has no header. */
  readonly isNumbered: boolean
}

/** How to generate ids if a file has none: from the line number, or from the content. */
export const MADE_IDS = ['line', 'hash'] as const
export type MadeIds = (typeof MADE_IDS)[number]

const EXAMPLE = 'text=content,id=docid,title=name, or of a table without a header id=1,text=2'
/** Prefix of columns that hold one field of the metadata each. */
const METADATA_PREFIX = 'metadata.'

function invalid(problem: string): CodedError {
  return invalidRequest('columns', `columns ${problem}: write it like ${EXAMPLE}.`)
}

/** Parses a column mapping: `text=content,metadata.year=published`, or column numbers without a header. @throws invalid_request */
export function parseColumns(given: string): ColumnMap {
  const pairs = given.split(',').map((pair) => {
    const at = pair.indexOf('=')
    return { field: pair.slice(0, at).trim(), column: pair.slice(at + 1).trim(), isPair: at > 0 }
  })
  const wrong = pairs.find(({ field, column, isPair }) => !isPair || field === '' || column === '')
  if (wrong !== undefined) throw invalid('must name a column for each field')
  const twice = pairs.find(({ field }, i) => pairs.findIndex((other) => other.field === field) !== i)
  if (twice !== undefined) throw invalid(`gives the field ${twice.field} twice`)
  const fields: Partial<Record<Field, string>> = {}
  const metadata: { name: string; column: string }[] = []
  for (const { field, column } of pairs) {
    const known = FIELDS.find((one) => one === field)
    if (known !== undefined) fields[known] = column
    else if (field.startsWith(METADATA_PREFIX) && field.length > METADATA_PREFIX.length)
      metadata.push({ name: field.slice(METADATA_PREFIX.length), column })
    else throw invalid(`gives the field ${field.slice(0, 40)}, which is none of ${FIELDS.join(', ')} and metadata.<name>`)
  }
  if (fields.metadata !== undefined && metadata.length > 0) throw invalid('gives metadata and metadata.<name>, of which there may be one')
  const numbered = pairs.filter(({ column }) => /^[1-9]\d{0,3}$/.test(column)).length
  if (numbered > 0 && numbered < pairs.length) throw invalid('has both numbers, which are for tables without a header, and names')
  if (numbered > 0 && fields.text === undefined) throw invalid('has numbers and none for text')
  return { fields, metadata, isNumbered: numbered > 0 }
}

/** Layout of a file's rows, as requested. */
export interface TableShape {
  readonly columns?: ColumnMap | undefined
  readonly ids?: MadeIds | undefined
}

/** True if rows may lack an id, because columns are named and none is the id. */
export function makesIds({ columns, ids }: TableShape): boolean {
  return ids !== undefined || (columns !== undefined && columns.fields.id === undefined)
}

interface Choice {
  /** Subject of an error message. */
  readonly where: string
  /** True if letter case does not count in names. */
  readonly anyCase?: boolean
  readonly readsMetadata?: boolean
  /** Names of unmapped fields, if they differ from the fields'. */
  readonly known?: ColumnMap['fields']
}

/**
 * Chooses the column of each field: the mapped one, else the one of that name. Metadata is in one column, or has a column for each field.
 * @param names columns of the file
 * @returns positions of columns, from 0, `of` fields and of `metadata` fields in columns of their own; names of `unread` columns;
 * `missing`: names of columns that must be there and are not
 * @throws corpus_invalid for metadata in both forms, and for a column that is read and named twice
 */
export function chooseColumns(
  names: readonly string[],
  { columns: map, ids }: TableShape,
  { where, anyCase = false, readsMetadata = true, known = {} }: Choice,
) {
  const { fields: mapped = {}, metadata: own = [] } = map ?? {}
  const normal = (name: string): string => (anyCase ? name.toLowerCase() : name)
  const normalNames = names.map(normal)
  const located = <Of extends { readonly column: string }>(one: Of) => ({ ...one, at: normalNames.indexOf(normal(one.column)) })
  const isRead = (field: Field): boolean => {
    if (field === 'id') return ids === undefined
    return field !== 'metadata' || (readsMetadata && own.length === 0)
  }
  const isNeeded = (field: Field): boolean =>
    field === 'text' || mapped[field] !== undefined || (field === 'id' && !makesIds({ columns: map, ids }))
  const fields = FIELDS.filter(isRead).map((field) => located({ field, column: mapped[field] ?? known[field] ?? field }))
  const present = fields.filter(({ at }) => at >= 0)
  const named = names.map((column, at) => ({ name: column.slice(METADATA_PREFIX.length), column, at }))
  const unmapped = mapped.metadata === undefined ? named.filter((_, i) => normalNames[i]?.startsWith(METADATA_PREFIX)) : []
  const separate = own.length > 0 ? own.map(located) : unmapped
  const metadata = readsMetadata ? separate : []
  const [first] = metadata
  if (first !== undefined && present.some(({ field }) => field === 'metadata'))
    throw invalidCorpus(
      'metadata',
      `${where} names metadata and metadata.${first.name}: give the metadata as JSON in one column, or each field in a separate column.`,
    )
  const isTwice = ({ column, at }: { readonly column: string; readonly at: number }): boolean =>
    normalNames.includes(normal(column), at + 1)
  const twice = [...present, ...own.map(located)].find(isTwice) ?? metadata.find(({ column, at }) => names.includes(column, at + 1))
  if (twice !== undefined) throw invalidCorpus(twice.column, `${where} names the column ${twice.column} twice: keep one.`)
  const isUnwanted = (name: string): boolean => (name === 'id' && ids !== undefined) || (name === 'metadata' && !readsMetadata)
  const taken = [...present, ...separate].map(({ at }) => at)
  const of: Partial<Record<Field, number>> = Object.fromEntries(present.map(({ field, at }) => [field, at]))
  return {
    of,
    metadata,
    unread: names.filter((name, at) => !taken.includes(at) && !isUnwanted(normal(name))),
    missing: [...fields.filter(({ field }) => isNeeded(field)), ...metadata].filter(({ at }) => at < 0).map(({ column }) => column),
  }
}
