import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Embed } from '../../index/contract.ts'
import { contentHash } from '../../index/hash.ts'
import { SHARD_ROWS, type Phase } from '../../index/ingest/plan/contract.ts'
import { createTable } from '../../index/table/create.ts'
import { connectLance } from '../../index/table/lance.ts'
import { arrowTable, packVectors } from '../../index/table/rows.ts'
import { clusteredVector, DIMENSION, lookupEmbed, syntheticPassage } from '../../test/fixtures/synthetic-corpus.ts'
import { clusters, syntheticJob } from '../../test/fixtures/synthetic-table.ts'

/** LanceDB alone: seconds spent in `add` of ready-made Arrow tables, without fsync, journal or checks. */
export async function bareAppend(dir: string, name: string, rows: number): Promise<number> {
  const connection = await connectLance(dir, 0)
  const table = await createTable(connection, name, clusters)
  let milliseconds = 0
  for (let from = 0; from < rows; from += SHARD_ROWS) {
    const passages = Array.from({ length: Math.min(SHARD_ROWS, rows - from) }, (_, i) => syntheticPassage(from + i))
    const vectors = passages.map((_, i) => clusteredVector(from + i, rows))
    const ready = arrowTable({ passages, hashes: passages.map(contentHash), halves: packVectors(passages, vectors, DIMENSION) }, DIMENSION)
    const started = performance.now()
    await table.add(ready)
    milliseconds += performance.now() - started
  }
  await connection.dropTable(name)
  connection.close()
  return milliseconds / 1000
}

/**
 * The same rows as a job.
 * @returns seconds to read, validate and write the plan; to look up, commit and fsync vectors, and of that for the look-up, which a model
 *   would do in another process; to read back, index and measure recall; and milliseconds without the event loop
 */
export async function jobWrite(dir: string, table: string, rows: number) {
  const started = performance.now()
  let [written, lookup] = [0, 0]
  const lookUp = lookupEmbed(rows)
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  const embed: Embed = async (texts) => {
    if (lookup === 0) gaps.enable()
    const from = performance.now()
    const vectors = await lookUp(texts)
    lookup += performance.now() - from
    return vectors
  }
  const onProgress = (phase: Phase): void => {
    if (phase !== 'verifying' || written > 0) return
    written = performance.now()
    gaps.disable()
  }
  const plan = await syntheticJob({ dir, table, jobId: 'bench', rows, embed, replace: true, onProgress })
  return {
    plan: plan / 1000,
    index: (written - started - plan) / 1000,
    verify: (performance.now() - written) / 1000,
    lookup: lookup / 1000,
    gapP99: gaps.percentile(99) / 1e6,
    gapMax: gaps.max / 1e6,
  }
}
