import type { Embed } from '../../contract.ts'
import { hasVectors, shardOf, vectorPath, type ShardDir } from './shard-dir.ts'
import { readShard, type PlannedRow } from '../plan/plan.ts'
import { prepareShard } from '../shard.ts'
import { writeVectorFile } from './vector-file.ts'

export interface EmbeddedShard {
  readonly rows: number
  /** True if the vectors existed and nothing was done. */
  readonly present: boolean
}

/**
 * Writes the vector file of a planned shard, unless it exists. Idempotent and safe to run concurrently.
 * @throws not_found for a number outside the plan, index_invalid for a missing or modified shard; errors of the embedder
 */
export async function embedShard(shardDir: ShardDir, shard: number, embed: Embed, signal: AbortSignal): Promise<EmbeddedShard> {
  const of = shardOf(shardDir, shard)
  if (await hasVectors(shardDir, shard)) return { rows: of.rows, present: true }
  const rows = await readPlanned(shardDir, shard)
  const { rows: embedded } = await prepareShard(shard, rows, {
    dimension: shardDir.dimension,
    embed,
    present: undefined,
    previous: undefined,
    signal,
    onEmbedded: () => undefined,
  })
  await writeVectorFile(vectorPath(shardDir.folder, shard), of, rows, embedded.halves)
  return { rows: of.rows, present: false }
}

/** Reads the rows of a planned shard. @throws not_found for a number outside the plan; index_invalid for a missing or damaged shard */
export async function readPlanned(shardDir: ShardDir, shard: number): Promise<PlannedRow[]> {
  shardOf(shardDir, shard)
  return readShard(shardDir.folder, shard, shardDir.plan)
}
