import { CodedError, invalidField } from '../../base/errors.ts'
import type { SearchFilter } from '../contract.ts'
import type { Condition } from '../filter-schema.ts'
import { label, LABELS_COLUMN, typedName } from '../table/metadata-columns.ts'
import { sqlString } from '../table/write.ts'

/** Text columns that can be filtered and have an index for it; `id` always has one. */
export const FILTER_COLUMNS = ['source', 'title'] as const
const TEXT_FIELDS = [...FILTER_COLUMNS, 'id'] as const
const MAX_VALUES = 1000

const BOUNDS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const
const OPERATORS: readonly string[] = ['equal', 'in', 'prefix', ...Object.keys(BOUNDS)]

type Scalar = Exclude<Condition['equal'], undefined>
type Given = Scalar | readonly Scalar[] | Condition

/**
 * SQL condition of a filter. LanceDB takes raw SQL, so only the columns and functions named here are written into it; names of metadata
 * fields and values only as literals.
 * @returns undefined for a filter without conditions
 * @throws invalid_request for another field or operator, a value of the wrong type, an empty list or more than 1000 values
 */
export function sqlFilter(filter: SearchFilter | undefined): string | undefined {
  if (filter === undefined) return undefined
  const unknown = Object.keys(filter).find((key) => key !== 'metadata' && !TEXT_FIELDS.some((field) => field === key))
  if (unknown !== undefined)
    throw new CodedError('invalid_request', `Unknown filter field "${unknown}"; use ${TEXT_FIELDS.join(', ')} or metadata.`, {
      field: `filter.${unknown}`,
    })
  const columns = TEXT_FIELDS.flatMap((field) => {
    const given = filter[field]
    return given === undefined ? [] : columnConditions(field, given)
  })
  const fields = Object.entries(filter.metadata ?? {}).flatMap(([name, given]) => metadataConditions(name, given))
  const all = [...columns, ...fields]
  return all.length === 0 ? undefined : all.join(' AND ')
}

/** Restricts a query to the passages that a filter matches. */
export function filtered<Asked extends { where(condition: string): Asked }>(query: Asked, filter: SearchFilter | undefined): Asked {
  const condition = sqlFilter(filter)
  return condition === undefined ? query : query.where(condition)
}

function columnConditions(column: string, given: Given): string[] {
  const field = `filter.${column}`
  const literal = (value: unknown): string => {
    if (typeof value !== 'string') throw invalidField(field, 'takes strings')
    return sqlString(value)
  }
  return Object.entries(condition(field, given)).map(([operator, value]) => {
    // Passages without a source are listed and counted under ''.
    if (operator === 'equal' && value === '') return `(${column} IS NULL OR ${column} = '')`
    if (operator === 'equal') return `${column} IN (${literal(value)})`
    if (operator === 'in') return `${column} IN (${list(field, value).map(literal).join(', ')})`
    if (operator === 'prefix') return `starts_with(${column}, ${literal(value)})`
    return `${column} ${boundOf(operator)} ${literal(value)}`
  })
}

/** Equality uses the labels, which are indexed; other operators compare row by row. */
function metadataConditions(name: string, given: Given): string[] {
  const field = `filter.metadata.${name}`
  const labelOf = (value: unknown): string => {
    if (value !== null && !['string', 'number', 'boolean'].includes(typeof value))
      throw invalidField(field, 'takes strings, numbers, true, false or null')
    return sqlString(label(name, value as Scalar))
  }
  const text = `json_get_string(metadata, ${sqlString(typedName(name, ''))})`
  const number = `json_get_float(metadata, ${sqlString(typedName(name, 0))})`
  const wanted = condition(field, given)
  const types = new Set(Object.keys(BOUNDS).flatMap((key) => (key in wanted ? [typeof wanted[key as keyof typeof BOUNDS]] : [])))
  if (types.size > 1) throw invalidField(field, 'has bounds of different types: give numbers or strings')
  return Object.entries(wanted).map(([operator, value]) => {
    if (operator === 'equal') return `array_has(${LABELS_COLUMN}, ${labelOf(value)})`
    if (operator === 'in') return `array_has_any(${LABELS_COLUMN}, [${list(field, value).map(labelOf).join(', ')}])`
    if (typeof value === 'number' && operator !== 'prefix' && Number.isFinite(value)) return `${number} ${boundOf(operator)} ${value}`
    if (typeof value !== 'string')
      throw invalidField(`${field}.${operator}`, operator === 'prefix' ? 'takes a string' : 'takes a number or a string')
    return operator === 'prefix' ? `starts_with(${text}, ${sqlString(value)})` : `${text} ${boundOf(operator)} ${sqlString(value)}`
  })
}

/** Normalises a filter's value to named operators. */
function condition(field: string, given: Given): Condition {
  if (Array.isArray(given)) return { in: given as Scalar[] }
  if (typeof given !== 'object' || given === null) return { equal: given }
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  const unknown = entries.find(([operator]) => !OPERATORS.includes(operator))
  if (unknown !== undefined) throw invalidField(`${field}.${unknown[0]}`, `is not an operator; use ${OPERATORS.join(', ')}`)
  if (entries.length === 0) throw invalidField(field, `is empty; give a value or ${OPERATORS.join(', ')}`)
  return Object.fromEntries(entries)
}

function list(field: string, values: unknown): unknown[] {
  const count = Array.isArray(values) ? values.length : 0
  if (!Array.isArray(values) || count === 0 || count > MAX_VALUES) throw invalidField(field, `has ${count} values; give 1 to ${MAX_VALUES}`)
  return values
}

function boundOf(operator: string): string {
  return BOUNDS[operator as keyof typeof BOUNDS]
}
