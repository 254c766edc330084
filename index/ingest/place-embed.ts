import { CodedError } from '../../base/errors.ts'
import { contentHash, sumFingerprints } from '../hash.ts'
import type { Embed } from '../contract.ts'
import { hasVectors, shardOf, vectorPath, type Place } from './place.ts'
import { readShard, type PlannedRow } from './plan.ts'
import { prepareShard } from './shard.ts'
import { writeVectorFile } from './vector-file.ts'

export interface EmbeddedShard {
  readonly rows: number
  /** True if the vectors were there already: nothing was done. */
  readonly present: boolean
}

/**
 * Makes the vector file of a planned shard, unless it is there. Done by several at once, or again, it ends the same.
 * @throws not_found for a number that the plan does not have, index_invalid for a shard that is missing or not as planned; what the embedder throws.
 */
export async function embedShard(place: Place, shard: number, embed: Embed, signal: AbortSignal): Promise<EmbeddedShard> {
  const of = shardOf(place, shard)
  if (await hasVectors(place, shard)) return { rows: of.rows, present: true }
  const rows = await readPlanned(place, shard)
  const { rows: embedded } = await prepareShard(shard, rows, {
    dimension: place.dimension,
    embed,
    present: undefined,
    previous: undefined,
    signal,
    onEmbedded: () => undefined,
  })
  await writeVectorFile(vectorPath(place.folder, shard), of, rows, embedded.halves)
  return { rows: of.rows, present: false }
}

/** The rows of a planned shard, as planned. @throws index_invalid for a shard that is missing or not as planned. */
export async function readPlanned(place: Place, shard: number): Promise<PlannedRow[]> {
  const of = shardOf(place, shard)
  const rows = await readShard(place.folder, shard, of.rows).catch((cause: unknown) => {
    throw damaged(place, shard, 'its file is missing or damaged', cause)
  })
  if (digestOf(rows) !== of.digest) throw damaged(place, shard, 'its passages are not those that were planned')
  return rows
}

/** Of contents as they are, not of the hashes that are noted beside them. */
function digestOf(rows: readonly PlannedRow[]): string {
  return sumFingerprints(rows.map(({ passage }) => ({ id: passage.id, hash: contentHash(passage) })))
}

function damaged({ folder }: Place, shard: number, what: string, cause?: unknown): CodedError {
  return new CodedError('index_invalid', `Shard ${shard} of ${folder} cannot be embedded: ${what}. Plan the corpus into a new folder.`, {
    field: 'shard',
    cause,
  })
}
