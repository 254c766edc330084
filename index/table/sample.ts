import type { Table as ArrowTable } from 'apache-arrow'
import { at } from '../../base/at.ts'
import { f16ToF32 } from '../../base/binary16.ts'
import { passageText, type Embed } from '../contract.ts'
import { halvesOf, PASSAGE_COLUMNS, passagesIn } from './rows.ts'
import type { Table } from './lance.ts'

/** Columns of rows spread evenly over a table; all rows if there are fewer than `count`. */
export async function sampleRows(table: Table, count: number, columns: readonly string[]): Promise<ArrowTable> {
  // Counted here: rows may have been deleted since a caller counted them.
  const rows = await table.countRows()
  const taken = Math.min(count, rows)
  const offsets = Array.from({ length: taken }, (_, i) => Math.floor(((i + 0.5) * rows) / taken))
  return table
    .takeOffsets(offsets)
    .select([...columns])
    .toArrow()
}

/** Passages of a table to embed. */
const SAMPLE = 64

/** How much the stored vectors of a sample and new ones differ. */
export interface Agreement {
  readonly cosine: number
  /** The largest relative difference of lengths. */
  readonly length: number
}

/** Embeds a sample of a table's passages and compares them with the stored vectors. @returns full agreement for an empty table */
export async function agreementWith(table: Table, embed: Embed, signal?: AbortSignal): Promise<Agreement> {
  const stored = await sampleRows(table, SAMPLE, [...PASSAGE_COLUMNS, 'vector'])
  const texts = passagesIn(stored).map(passageText)
  const own = texts.length === 0 ? [] : await embed(texts, signal)
  const halves = halvesOf(stored)
  const pairs = texts.map((_, row) => compared(f16ToF32(halves(row)), at(own, row)))
  const lengths = pairs.map((pair) => Math.abs(pair.lengths - 1))
  return { cosine: Math.min(1, ...pairs.map(({ cosine }) => cosine)), length: Math.max(0, ...lengths) }
}

/** The cosine of two vectors, and the ratio of their lengths. A zero vector agrees with another one alone. */
export function compared(a: Float32Array, b: Float32Array): { readonly cosine: number; readonly lengths: number } {
  let [dot, squaresA, squaresB] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number]
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  if (squaresA === 0 || squaresB === 0) return squaresA === squaresB ? { cosine: 1, lengths: 1 } : { cosine: 0, lengths: 0 }
  return { cosine: dot / Math.sqrt(squaresA * squaresB), lengths: Math.sqrt(squaresA / squaresB) }
}
