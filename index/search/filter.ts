import { invalidField } from '../../base/errors.ts'
import { isExact } from '../../base/json.ts'
import type { SearchFilter } from '../contract.ts'
import type { Condition } from '../filter-schema.ts'
import { INEXACT } from '../passage-metadata.ts'
import { label, LABELS_COLUMN, typedName } from '../table/metadata-columns.ts'
import { sqlString } from '../table/write.ts'

/** Text columns that can be filtered and have an index for it; `id` always has one. */
export const FILTER_COLUMNS = ['source', 'title'] as const
const BOUNDS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

type Scalar = Exclude<Condition['equal'], undefined>
type Given = Scalar | Scalar[] | Condition

/**
 * SQL condition of a filter. LanceDB takes raw SQL, so only the columns and functions named here are written into it; names of metadata
 * fields and values only as literals.
 * @param filter as its schema validates it
 * @returns undefined for a filter without conditions
 * @throws invalid_request for bounds of different types, or an integer that JSON rounds
 */
export function sqlFilter(filter: SearchFilter = {}): string | undefined {
  const columns = ([...FILTER_COLUMNS, 'id'] as const).flatMap((column) => {
    const given = filter[column]
    return given === undefined ? [] : columnConditions(column, given)
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
  // Stored titles are composed.
  const literal = (value: Scalar): string => sqlString(column === 'title' ? String(value).normalize() : String(value))
  return conditionsOf(given).map(([operator, value]) => {
    if (Array.isArray(value)) return `${column} IN (${value.map(literal).join(', ')})`
    // Passages without a source are listed and counted under ''.
    if (operator === 'equal' && value === '') return `(${column} IS NULL OR ${column} = '')`
    if (operator === 'equal') return `${column} IN (${literal(value)})`
    return operator === 'prefix' ? `starts_with(${column}, ${literal(value)})` : `${column} ${boundOf(operator)} ${literal(value)}`
  })
}

/** Equality uses the labels, which are indexed; other operators compare row by row. */
function metadataConditions(name: string, given: Given): string[] {
  const labelOf = (value: Scalar): string => {
    if (typeof value === 'number' && !isExact(value)) throw invalidField(`filter.metadata.${name}`, INEXACT)
    return sqlString(label(name, value))
  }
  const text = `json_get_string(metadata, ${sqlString(typedName(name, ''))})`
  const number = `json_get_float(metadata, ${sqlString(typedName(name, 0))})`
  const conditions = conditionsOf(given)
  const types = new Set(conditions.flatMap(([operator, value]) => (operator in BOUNDS ? [typeof value] : [])))
  if (types.size > 1) throw invalidField(`filter.metadata.${name}`, 'has bounds of different types: give numbers or strings')
  return conditions.map(([operator, value]) => {
    if (Array.isArray(value)) return `array_has_any(${LABELS_COLUMN}, [${value.map(labelOf).join(', ')}])`
    if (operator === 'equal') return `array_has(${LABELS_COLUMN}, ${labelOf(value)})`
    if (operator === 'prefix') return `starts_with(${text}, ${sqlString(String(value))})`
    return typeof value === 'number'
      ? `${number} ${boundOf(operator)} ${value}`
      : `${text} ${boundOf(operator)} ${sqlString(String(value))}`
  })
}

/** The conditions of a filter's value by operator; a list always stands under `in`. */
function conditionsOf(given: Given): [operator: string, value: Scalar | Scalar[]][] {
  if (Array.isArray(given)) return [['in', given]]
  return typeof given === 'object' && given !== null ? Object.entries(given) : [['equal', given]]
}

function boundOf(operator: string): string {
  return BOUNDS[operator as keyof typeof BOUNDS]
}
