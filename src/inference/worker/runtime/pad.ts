import { int64, type Tensor } from './session.ts'

/**
 * Pads rows of ids on the right to one batch.
 * @returns input_ids and attention_mask, int64 [rows, longest]
 */
export function padRight(
  rows: readonly (readonly number[])[],
  padId: number,
): { readonly input_ids: Tensor; readonly attention_mask: Tensor } {
  const longest = Math.max(0, ...rows.map((row) => row.length))
  const columns = Array.from({ length: longest }, (_, column) => column)
  const dims = [rows.length, longest]
  return {
    input_ids: int64(
      rows.flatMap((row) => columns.map((column) => row[column] ?? padId)),
      dims,
    ),
    attention_mask: int64(
      rows.flatMap((row) => columns.map((column) => (column < row.length ? 1 : 0))),
      dims,
    ),
  }
}
