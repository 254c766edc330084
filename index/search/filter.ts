import { CodedError } from '../../base/errors.ts'
import type { SearchFilter } from '../contract.ts'
import { sqlString } from '../table/sql.ts'

/** Columns that may be filtered by. */
export const FILTER_COLUMNS = ['source', 'title'] as const
const MAX_VALUES = 1000

/**
 * SQL condition of a filter. LanceDB takes raw SQL, so only the columns named here are ever written into it,
 * and values only as string literals.
 * @returns undefined for a filter without conditions.
 * @throws invalid_request for another field, an empty list or more than 1000 values.
 */
export function sqlFilter(filter: SearchFilter | undefined): string | undefined {
  if (filter === undefined) return undefined
  const unknown = Object.keys(filter).find((key) => !FILTER_COLUMNS.some((field) => field === key))
  if (unknown !== undefined)
    throw new CodedError('invalid_request', `Unknown filter field "${unknown}"; use ${FILTER_COLUMNS.join(' or ')}.`, {
      field: `filter.${unknown}`,
    })
  const conditions = FILTER_COLUMNS.flatMap((field) => {
    const wanted = filter[field]
    if (wanted === undefined) return []
    const values = typeof wanted === 'string' ? [wanted] : wanted
    if (values.length === 0 || values.length > MAX_VALUES) {
      throw new CodedError('invalid_request', `filter.${field} has ${values.length} values; give 1 to ${MAX_VALUES}.`, {
        field: `filter.${field}`,
      })
    }
    return [`${field} IN (${values.map(sqlString).join(', ')})`]
  })
  return conditions.length === 0 ? undefined : conditions.join(' AND ')
}
