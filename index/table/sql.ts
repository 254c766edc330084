/** A value as an SQL string literal. */
export function sqlString(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}

/** `id IN (...)` for LanceDB's `where`. */
export function sqlIds(ids: readonly string[]): string {
  return `id IN (${ids.map(sqlString).join(', ')})`
}
