/** A value as an SQL string literal. */
export function sqlString(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** `column IN (...)` for LanceDB's `where`. @param column a trusted name or expression */
export function sqlIn(column: string, values: readonly string[]): string {
  return `${column} IN (${values.map(sqlString).join(', ')})`
}

/** `id IN (...)` for LanceDB's `where`. */
export function sqlIds(ids: readonly string[]): string {
  return sqlIn('id', ids)
}
