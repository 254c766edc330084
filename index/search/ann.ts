import { mergeSegments, MOST_SEGMENTS } from '../compaction/compact.ts'
import { SEARCH_POLICY, type SearchPolicy, updateIndexes } from './update-indexes.ts'
import { vectorIndexConfig, writing, type Table } from '../table/lance.ts'
import type { Embed } from '../contract.ts'
import { agreementWith } from '../table/sample.ts'
import { readMetadata, writeAnn, writePartitions, type AnnSettings } from '../table/metadata.ts'
import { takeProbes } from './recall.ts'
import { Stages } from '../stages.ts'
import { tune } from './tune.ts'

/**
 * Rows per partition. LanceDB prefers this size for this index type: when rows are added or files compacted, it merges partitions of less
 * than a quarter, and a search then reads more of the table than tuned.
 */
const PARTITION_ROWS = 4096
const MOST_PARTITIONS = 4096
/** Rebuild the index if it has this many times too few or too many partitions. */
const REPARTITION = 2
/** Growth of the table after which recall is measured again. */
const REMEASURE = 1.1

/** Lowest cosine of a sample for vectors of the loaded model, in any precision. */
const OWN_COSINE = 0.9

interface BuildOptions {
  /** Embeds passages, to see whether the table's vectors are those of the model; without it they are taken for such. */
  readonly embed?: Embed | undefined
  /** Embeds questions, to measure recall with them in place of stored vectors. */
  readonly embedQuestions?: Embed | undefined
  readonly signal?: AbortSignal | undefined
  readonly stages?: Stages
}

/**
 * Builds or updates the indexes for a table of its size, and chooses search settings by measuring recall. Searches continue. Idempotent:
 * run again after an interruption or with another policy, it completes the rest.
 * If no settings reach the required recall, the index is not used, unless it was before, and `onWarning` is called.
 * @returns the settings; undefined if every vector is compared
 * @throws errors of `embed` and `embedQuestions`; the signal's reason once aborted
 */
export async function buildIndexes(
  table: Table,
  policy: SearchPolicy = SEARCH_POLICY,
  { embed, embedQuestions, signal, stages = new Stages() }: BuildOptions = {},
): Promise<AnnSettings | undefined> {
  const rows = await table.countRows()
  const { ann: known, partitions: built } = await readMetadata(table)
  await updateIndexes(table, rows, policy, stages)
  if (rows < policy.exactBelow) {
    if (known !== undefined) await writing(table, () => writeAnn(table, undefined))
    return undefined
  }
  const partitions = await stages.estimated('indexing vectors', rows, () => buildVectorIndex(table, rows, built))
  const current = known?.partitions === partitions && rows < known.rows * REMEASURE && known.recall >= policy.minRecall ? known : undefined
  if (current !== undefined && (embedQuestions === undefined || current.questionRecall !== undefined)) return current
  // Sentences say nothing about vectors of another model, which users brought: these are probed with themselves.
  const own = embed === undefined || (await agreementWith(table, embed, signal)).cosine >= OWN_COSINE
  if (current !== undefined && !own) return current
  signal?.throwIfAborted()
  const onProbes = stages.counted('measuring recall')
  const { chosen, best } = await tune(
    table,
    { partitions, rows, minRecall: policy.minRecall, onProbes },
    await takeProbes(table, policy.sample, own ? embedQuestions : undefined, signal),
    signal,
  )
  // A table that is searched by its index stays so with the best settings: exact search may be too slow.
  const ann = chosen ?? (known && best)
  if (ann !== undefined) await writing(table, () => writeAnn(table, ann))
  const probes = best.questionRecall === undefined ? '' : ' (for sentences of passages as questions)'
  if (chosen === undefined)
    policy.onWarning?.(
      `The vector index of ${table.storedAs} reaches recall@10 ${best.recall.toFixed(3)} of the required ${policy.minRecall}${probes}, at nprobes ${best.nprobes} of ${best.partitions} and refine ${best.refine}: ` +
        `${ann === undefined ? 'it is not used, and searches compare every vector, which takes longer' : 'searches use it with these settings'}. ` +
        `Lower CEPE_MIN_RECALL, or set CEPE_EXACT_BELOW above ${rows}. Many equal vectors point to a wrong embedding model.`,
    )
  return ann
}

/** @returns the number of partitions of the existing or new index */
async function buildVectorIndex(table: Table, rows: number, built: number | undefined): Promise<number> {
  const wanted = Math.max(1, Math.min(MOST_PARTITIONS, Math.round(rows / PARTITION_ROWS)))
  if (built !== undefined && wanted < built * REPARTITION && built < wanted * REPARTITION) {
    await mergeSegments(table, MOST_SEGMENTS)
    return built
  }
  await writing(table, () => table.createIndex('vector', { config: vectorIndexConfig(wanted) }))
  await writing(table, () => writePartitions(table, wanted))
  return wanted
}
