import type { Table as ArrowTable } from 'apache-arrow'
import type { Table } from './lance.ts'

/** Columns of rows spread evenly over a table; all rows if there are fewer than `count`. */
export async function sampleRows(table: Table, count: number, columns: readonly string[]): Promise<ArrowTable> {
  // Counted here: rows may have been deleted since a caller counted them.
  const offsets = evenOffsets(await table.countRows(), count)
  return table
    .takeOffsets(offsets)
    .select([...columns])
    .toArrow()
}

function evenOffsets(rows: number, count: number): number[] {
  const taken = Math.min(count, rows)
  return Array.from({ length: taken }, (_, i) => Math.floor(((i + 0.5) * rows) / taken))
}
