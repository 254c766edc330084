import { at } from '../../base/at.ts'
import { f16ToF32 } from '../../base/binary16.ts'
import { CodedError } from '../../base/errors.ts'
import { sampleIndices, seededRandom } from '../../base/random.ts'
import { compared } from '../table/sample.ts'
import { passageText, type Embed } from '../contract.ts'
import type { PlannedRow } from '../ingest/plan/plan.ts'

/** Vectors of one model in different precisions differ by a few percent in length. */
const LENGTH_TOLERANCE = 0.05

export interface CompareOptions {
  /** Passages of the shard to embed. */
  readonly count: number
  /** Minimum cosine between a given vector and the model's own. */
  readonly minCosine: number
  readonly model: string
  readonly embed: Embed
  readonly signal: AbortSignal
}

/**
 * Embeds some passages of a shard and compares them with the given vectors.
 * @param halves [rows, dimension]
 * @returns the lowest cosine
 * @throws index_invalid naming a passage whose vector differs from the model's
 */
export async function compareSome(rows: readonly PlannedRow[], halves: Uint16Array, options: CompareOptions): Promise<number> {
  const { count, minCosine, model, embed, signal } = options
  const dimension = halves.length / rows.length
  const sampled = sampleIndices(rows.length, count, seededRandom(at(rows, 0).hash, rows.length))
  const texts = sampled.map((row) => passageText(at(rows, row).passage))
  const own = await embed(texts, signal)
  let least = 1
  for (const [i, row] of sampled.entries()) {
    const { cosine, lengths } = compared(f16ToF32(halves.subarray(row * dimension, (row + 1) * dimension)), at(own, i))
    const direction = cosine >= minCosine
    if (!direction || Math.abs(lengths - 1) > LENGTH_TOLERANCE)
      throw new CodedError(
        'index_invalid',
        `The vector given for passage "${at(rows, row).passage.id}" is not what ${model} makes of it: ${direction ? `it is ${lengths.toFixed(3)} times as long (normalised vectors cannot be used)` : `their cosine is ${cosine.toFixed(3)}, and ${minCosine} is asked for`}. Were the vectors made by another model, of texts without titles, or are ids and vectors out of step? What was compared before is right and stays; nothing is in a table yet.`,
        { field: 'vector' },
      )
    least = Math.min(least, cosine)
  }
  return least
}
