import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Embed, EmbeddingModel } from '../../index/contract.ts'
import { contentHash } from '../../index/hash.ts'
import { planCorpus } from '../../index/ingest/plan.ts'
import { runJob, type RunJobOptions } from '../../index/ingest/run.ts'
import { buildIndexes } from '../../index/search/ann.ts'
import { writeAlias } from '../../index/table/alias.ts'
import { createTable } from '../../index/table/create.ts'
import { connectLance } from '../../index/table/lance.ts'
import { packVectors } from '../../index/table/rows.ts'
import { appendRows, chunks } from '../../index/table/write.ts'
import { clusteredVector, DIMENSION, syntheticItems, syntheticPassage } from './index-corpus.ts'

/** Model of the clustered vectors. */
export const clusters: EmbeddingModel = { id: 'synthetic-clusters', dimension: DIMENSION }

const BATCH = 4096
/** An index of its own on tables of any size; the recall is not what is measured. */
const POLICY = { exactBelow: 1000, minRecall: 0.5, sample: 16 }

/** The live table `passages` of so many synthetic passages, with a vector index and an index of the ids. */
export async function indexedTable(
  dir: string,
  model: EmbeddingModel,
  rows: number,
  vectorOf: (number: number) => Float32Array,
): Promise<void> {
  const connection = await connectLance(dir, 0)
  const table = await createTable(connection, 'passages.bench', model)
  for (const some of chunks([...Array(rows).keys()], BATCH)) {
    const passages = some.map(syntheticPassage)
    const halves = packVectors(passages, some.map(vectorOf), model.dimension)
    await appendRows(table, { passages, hashes: passages.map(contentHash), halves }, model.dimension)
  }
  await buildIndexes(table, POLICY)
  await writeAlias(dir, 'passages', { stored_as: 'passages.bench', replaced_by_job: null })
  connection.close()
}

export interface SyntheticJob extends Partial<RunJobOptions> {
  readonly dir: string
  readonly table: string
  readonly jobId: string
  readonly rows: number
  /** Number of the first passage. */
  readonly first?: number
  readonly embed: Embed
  readonly replace: boolean
}

/** Plans synthetic passages and takes them into a table, as a job does. @returns milliseconds of planning. */
export async function syntheticJob({ dir, table, jobId, rows, first = 0, ...options }: SyntheticJob): Promise<number> {
  const folder = join(dir, 'jobs', jobId)
  await mkdir(folder, { recursive: true })
  const started = performance.now()
  await planCorpus(syntheticItems(rows, first), { folder, maxRejectedShare: 0 })
  const planned = performance.now() - started
  await runJob({ model: clusters, signal: new AbortController().signal, ...options, dir, table, jobId, folder })
  return planned
}

/** Vector of a synthetic passage or question in a table of so many clusters. */
export function clusteredIn(rows: number): (number: number) => Float32Array {
  return (number) => clusteredVector(number, rows)
}
