import { mkdir } from 'node:fs/promises'
import type { EmbeddingModel } from '../../../index/contract.ts'
import { adoptPlan, vectorReader } from '../../../index/ingest/shard-dir/adopt-plan.ts'
import { planShardDir, shardOf, vectorPath, type ShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { readPlan, readShard } from '../../../index/ingest/plan/plan.ts'
import { runJob } from '../../../index/ingest/run.ts'
import { writeVectorFile } from '../../../index/ingest/shard-dir/vector-file.ts'
import { packVectors } from '../../../index/table/rows.ts'
import { clusteredVector, DIMENSION, syntheticItems } from '../../../test/fixtures/synthetic-corpus.ts'

/** Model of the clustered vectors. */
export function synthetic(dimension = DIMENSION): EmbeddingModel {
  return { id: 'synthetic-clusters', dimension }
}

/** A shard folder with all vectors: the input of `cepe index commit`. */
export async function readyShardDir(folder: string, rows: number, dimension = DIMENSION): Promise<ShardDir> {
  const shardDir = await planShardDir(() => syntheticItems(rows), {
    folder,
    model: synthetic(dimension),
    name: 'synthetic',
    corpus: 'synthetic',
    maxRejectedShare: 0,
  })
  for (const shard of shardDir.plan.shard_rows.keys()) {
    const of = shardOf(shardDir, shard)
    const planned = await readShard(shardDir.folder, shard, shardDir.plan)
    const vectors = planned.map(({ passage }) => clusteredVector(Number(passage.id), rows, dimension))
    const passages = planned.map(({ passage }) => passage)
    await writeVectorFile(vectorPath(shardDir.folder, shard), of, planned, packVectors(passages, vectors, dimension))
  }
  return shardDir
}

/** Times of a commit, by `performance.now()`: plan adopted, rows written, table verified, indexed and live. */
export interface Committed {
  readonly started: number
  readonly adopted: number
  readonly written: number
  readonly done: number
}

/** Commits such a folder to the table `bench` of an index, resuming after a kill. @param folder of the job */
export async function commitReady(shardDir: ShardDir, dir: string, folder: string): Promise<Committed> {
  await mkdir(folder, { recursive: true })
  const started = performance.now()
  if ((await readPlan(folder)) === undefined) await adoptPlan(shardDir, folder)
  const adopted = performance.now()
  let written: number | undefined
  await runJob({
    dir,
    table: 'bench',
    model: synthetic(shardDir.dimension),
    jobId: 'bench',
    folder,
    replace: true,
    policy: { exactBelow: 1 },
    signal: new AbortController().signal,
    embed: () => Promise.reject(new Error('nothing is to be embedded')),
    readyVectors: vectorReader(shardDir),
    onProgress: (phase) => {
      if (phase === 'verifying') written ??= performance.now()
    },
  })
  return { started, adopted, written: written ?? adopted, done: performance.now() }
}
