import { planPlace, shardOf, vectorPath, type Place } from '../../index/ingest/place.ts'
import { readShard } from '../../index/ingest/plan.ts'
import { writeVectorFile } from '../../index/ingest/vector-file.ts'
import { packVectors } from '../../index/table/rows.ts'
import { clusteredVector, DIMENSION, syntheticItems } from './index-corpus.ts'

export const SYNTHETIC = { id: 'synthetic-clusters', dimension: DIMENSION }

/** A place with the vectors of every shard: what `cepe index commit` takes. */
export async function readyPlace(folder: string, rows: number): Promise<Place> {
  const place = await planPlace(() => syntheticItems(rows), {
    folder,
    model: SYNTHETIC,
    name: 'synthetic',
    corpus: 'synthetic',
    maxRejectedShare: 0,
  })
  for (const shard of place.plan.shard_rows.keys()) {
    const of = shardOf(place, shard)
    const planned = await readShard(place.folder, shard, of.rows)
    const vectors = planned.map(({ passage }) => clusteredVector(Number(passage.id), rows))
    const passages = planned.map(({ passage }) => passage)
    await writeVectorFile(vectorPath(place.folder, shard), of, planned, packVectors(passages, vectors, DIMENSION))
  }
  return place
}
