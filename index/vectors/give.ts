import { at } from '../../base/at.ts'
import { f16ToF32 } from '../../base/binary16.ts'
import { invalidIndex } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { workFolder } from '../../base/locks/scratch.ts'
import { makeFolder } from '../../base/durable.ts'
import { sampleIndices, seededRandom } from '../../base/random.ts'
import { type Embed, type EmbeddingModel, passageText } from '../contract.ts'
import { type PlannedRow, readShard } from '../ingest/plan/plan.ts'
import { prefetchOne } from '../ingest/shard.ts'
import { checkShardDirModel, hasVectors, type ShardDir, vectorsOf } from '../ingest/shard-dir/shard-dir.ts'
import { writeVectorFile } from '../ingest/shard-dir/vector-file.ts'
import { compared } from '../table/sample.ts'
import { readGiven } from './given.ts'
import { openVectors } from './open.ts'
import type { VectorSource } from './rows.ts'

/** Vectors of one model in different precisions differ by a few percent in length. */
const LENGTH_TOLERANCE = 0.05

export interface GiveOptions {
  readonly files: readonly string[]
  /** Name of the model that made the vectors. */
  readonly madeBy: string
  /** True if the user declares it to be the retriever's model under another name. */
  readonly sameModel: boolean
  /** The retriever, which embeds the sample. */
  readonly model: EmbeddingModel
  readonly embed: Embed
  /** Total number of passages to compare; at least one in each shard. */
  readonly sample: number
  readonly minCosine: number
  /** Folder for temporary files of the command. */
  readonly work: string
  readonly signal: AbortSignal
  readonly onProgress: (phase: 'reading' | 'writing', done: number, total: number) => void
}

const EXAMPLES = 3

/**
 * Writes precomputed vectors, matched by id, as the vector files of a planned corpus. A shard is written if all its passages have a vector
 * and a sample of them agrees with the retriever. Resumable.
 * @returns numbers of shards whose vectors were written, and of those that had some; `missing`: passages without a vector, and the shards
 * skipped because of them; `foreign`: vectors of passages that are not in the plan; `leastCosine`: of the comparison, 1 if there was none
 * @throws index_invalid for vectors of another model, or that differ from the declared one; corpus_invalid; disk_full
 */
export async function giveVectors(shardDir: ShardDir, options: GiveOptions) {
  const { madeBy, sameModel, model } = options
  checkShardDirModel(shardDir, model)
  const message = `The vectors are of ${madeBy} (--made-by), the plan is for ${shardDir.model}: vectors of different models cannot be compared. If it is the same model (in another precision or another software), say so with --same-model; a sample is compared in any case.`
  if (madeBy !== shardDir.model && !sameModel) throw invalidIndex('--made-by', message)
  await makeFolder(options.work)
  await using work = await workFolder(options.work)
  try {
    const sources: VectorSource[] = []
    for (const [number, path] of options.files.entries()) {
      options.signal.throwIfAborted()
      sources.push(await openVectors({ path, dimension: shardDir.dimension, work: work.path, number }))
    }
    return await give(shardDir, sources, options)
  } catch (error) {
    throw failureOf(error) ?? error
  }
}

async function give(shardDir: ShardDir, sources: readonly VectorSource[], options: GiveOptions) {
  const { signal, sample, onProgress } = options
  const { folder, plan, dimension } = shardDir
  const shards = plan.shard_rows
  const total = sources.reduce((sum, { rows }) => sum + rows, 0)
  const given = await readGiven(sources, signal, (ids) => onProgress('reading', ids, total))
  const count = Math.max(1, Math.ceil(sample / shards.length))
  const prepare = async (shard: number) => {
    signal.throwIfAborted()
    const rows = await readShard(folder, shard, plan)
    const wanted = rows.map(({ passage: { id } }) => ({ id, row: given.use(id) }))
    if (await hasVectors(vectorsOf(shardDir, shard))) return { shard, rows, without: [], least: 1 }
    const without = wanted.filter(({ row }) => row === undefined).map(({ id }) => id)
    if (without.length > 0) return { shard, rows, without, least: 1 }
    const halves = await given.read(wanted, dimension)
    return { shard, rows, without, halves, least: await compareSome(rows, halves, count, options) }
  }
  let [written, present, missing, shardsLeft, compared, leastCosine] = [0, 0, 0, 0, 0, 1]
  const examples: string[] = []
  for await (const { shard, rows, without, least, halves } of prefetchOne(shards.keys(), prepare)) {
    if (halves !== undefined) {
      await writeVectorFile(vectorsOf(shardDir, shard), rows, halves)
      written++
      compared += Math.min(count, rows.length)
      leastCosine = Math.min(leastCosine, least)
    } else if (without.length > 0) {
      missing += without.length
      shardsLeft++
      examples.push(...without.slice(0, EXAMPLES - examples.length))
    } else present++
    onProgress('writing', shard + 1, shards.length)
  }
  return {
    written,
    present,
    missing: { count: missing, examples, shards: shardsLeft },
    foreign: await given.unused(),
    compared,
    leastCosine,
  }
}

/**
 * Embeds `count` passages of a shard and compares them with the given vectors.
 * @param halves [rows, dimension]
 * @returns the lowest cosine
 * @throws index_invalid naming a passage whose vector differs from the model's
 */
async function compareSome(
  rows: readonly PlannedRow[],
  halves: Uint16Array,
  count: number,
  { minCosine, model, embed, signal }: GiveOptions,
): Promise<number> {
  const { dimension } = model
  const sampled = sampleIndices(rows.length, count, seededRandom(at(rows, 0).hash, rows.length))
  const texts = sampled.map((row) => passageText(at(rows, row).passage))
  const own = await embed(texts, signal)
  let least = 1
  for (const [i, row] of sampled.entries()) {
    const { cosine, lengths } = compared(f16ToF32(halves.subarray(row * dimension, (row + 1) * dimension)), at(own, i))
    const direction = cosine >= minCosine
    if (!direction || Math.abs(lengths - 1) > LENGTH_TOLERANCE)
      throw invalidIndex(
        'vector',
        `The vector given for passage "${at(rows, row).passage.id}" is not what ${model.id} makes of it: ${direction ? `it is ${lengths.toFixed(3)} times as long (give vectors of the retriever's own length)` : `their cosine is ${cosine.toFixed(3)}, and ${minCosine} is asked for`}. Were the vectors made by another model, of texts without titles, or are ids and vectors out of step? What was compared before is right and stays; nothing is in a table yet.`,
      )
    least = Math.min(least, cosine)
  }
  return least
}
