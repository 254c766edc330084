import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { planCorpus } from '../../index/ingest/plan.ts'
import { runJob } from '../../index/ingest/run.ts'
import { SHARD_ROWS } from '../../index/ingest/contract.ts'
import { contentHash } from '../../index/hash.ts'
import { connectLance } from '../../index/table/lance.ts'
import { createTable } from '../../index/table/create.ts'
import { arrowTable, packVectors } from '../../index/table/rows.ts'
import { clusteredVector, DIMENSION, lookupEmbed, syntheticItems, syntheticPassage } from './index-corpus.ts'

const benchModel = { id: 'synthetic-clusters', dimension: DIMENSION }

/** LanceDB alone: seconds spent in `add` of ready-made Arrow tables, without fsync, journal or checks. */
export async function bareAppend(dir: string, name: string, rows: number): Promise<number> {
  const connection = await connectLance(dir, 0)
  const table = await createTable(connection, name, benchModel)
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

export interface JobTimes {
  /** Seconds: the corpus read, checked and laid out; vectors looked up, committed and fsynced; read back, indexed, recall measured. */
  readonly plan: number
  readonly index: number
  readonly verify: number
  /** Seconds of the indexing phase that went into looking vectors up, which a model would do in another process. */
  readonly lookup: number
  readonly gapP99: number
  readonly gapMax: number
}

/** The same rows as a job. */
export async function jobWrite(dir: string, table: string, rows: number): Promise<JobTimes> {
  const folder = join(dir, 'jobs', table)
  await mkdir(folder, { recursive: true })
  const started = performance.now()
  await planCorpus(syntheticItems(rows), { folder, maxRejectedShare: 0 })
  const planned = performance.now()
  let written = planned
  let lookup = 0
  const embed = lookupEmbed(rows)
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  gaps.enable()
  await runJob({
    dir,
    table,
    model: benchModel,
    jobId: 'bench',
    folder,
    replace: true,
    signal: new AbortController().signal,
    embed: async (texts) => {
      const from = performance.now()
      const vectors = await embed(texts)
      lookup += performance.now() - from
      return vectors
    },
    onProgress: (phase) => {
      if (phase === 'verifying') {
        written = performance.now()
        gaps.disable()
      }
    },
  })
  const done = performance.now()
  return {
    plan: (planned - started) / 1000,
    index: (written - planned) / 1000,
    verify: (done - written) / 1000,
    lookup: lookup / 1000,
    gapP99: gaps.percentile(99) / 1e6,
    gapMax: gaps.max / 1e6,
  }
}
