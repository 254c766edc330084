/** What building a table and adding to one have in common. */
import { at } from '../../base/at.ts'
import type { Embed, EmbeddingModel, TableLocation } from '../contract.ts'
import { buildIndexes, SEARCH_POLICY, type SearchPolicy } from '../search/ann.ts'
import { measureDenseWeight } from '../search/hybrid-weight.ts'
import { Stages, type Stage } from '../stages.ts'
import type { Connection, Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import type { TableSync } from '../table/table-sync.ts'
import type { ChangeLog } from '../writers/change-log.ts'
import type { JournalWriter, Progress } from './journal.ts'
import type { Counters, Phase, Plan } from './plan/contract.ts'
import { prefetchOne } from './one-behind.ts'
import { plannedBytes, readShard, type PlannedRow } from './plan/plan.ts'
import { prepareShard, type PreparedShard } from './shard.ts'
import { requireSpace, tableBytes } from './space.ts'

/** Number of committed shards after which fragments are compacted. */
const COMPACT_AFTER = 64

export interface RunJobOptions extends TableLocation {
  readonly model: EmbeddingModel
  readonly embed: Embed
  /**
   * Embeds questions, to measure the weight of dense search and the recall of the vector index on this corpus; without it neither is
   * measured.
   */
  readonly embedQuestions?: Embed | undefined
  readonly jobId: string
  /** The job's folder, with the plan. */
  readonly folder: string
  /** True if the corpus replaces the table's content. */
  readonly replace: boolean
  readonly policy?: Partial<SearchPolicy> | undefined
  /**
   * Returns precomputed vectors of a planned shard, float16 in row order. `embed` is then only used for passages changed during the job.
   */
  readonly readyVectors?: ((shard: number, rows: readonly PlannedRow[]) => Promise<Uint16Array>) | undefined
  /** True if the corpus is a folder of files: passages of renamed files keep their vectors. */
  readonly byContent?: boolean | undefined
  readonly signal: AbortSignal
  /** `stage`: of the verifying phase. */
  readonly onProgress?: (phase: Phase, counters: Counters, stage?: Stage) => void
  readonly onWarning?: (message: string) => void
}

export interface JobResult {
  readonly storedAs: string
  readonly rows: number
  /** A later job that replaced the table while this one was stopped; nothing more was written. */
  readonly supersededBy?: string
  /** Absent for an exact table. */
  readonly ann?: AnnSettings | undefined
}

/** A run of a job with its plan. */
export interface JobRun extends RunJobOptions {
  readonly onWarning: (message: string) => void
  readonly plan: Plan
  /** The table that is written to. */
  readonly storedAs: string
  /** Progress of the job when it started or resumed. */
  readonly before: Progress
  readonly journal: JournalWriter
  readonly connection: Connection
  /** Changes of the table since the job was ordered. */
  readonly later: ChangeLog
  /** Updated as shards are embedded and committed. */
  readonly counters: Counters
}

/** Counters of a job from its plan and its journal. */
export function countersOf({ read, rejected, accepted, shard_rows }: Plan, { shards }: Progress): Counters {
  const counters = { read, rejected, accepted, embedded: 0, skipped: 0, committed: 0 }
  for (const [number, shard] of shards) {
    counters.embedded += shard.embedded
    counters.skipped += shard.skipped
    if (shard.state !== 'embedded') counters.committed += at(shard_rows, number)
  }
  return counters
}

export function report({ onProgress, counters }: JobRun, phase: Phase, stage?: Stage): void {
  onProgress?.(phase, { ...counters }, stage)
}

/** Checks that the remaining rows fit on the disk. @throws disk_full */
export async function checkSpace({ dir, folder, model, plan, before }: JobRun): Promise<void> {
  const first = [...plan.shard_rows.keys()].find((number) => !before.shards.has(number))
  if (first === undefined) return
  const rows = plan.shard_rows.slice(first).reduce((sum, size) => sum + size, 0)
  await requireSpace(dir, tableBytes(await plannedBytes(folder, plan, first), rows, model.dimension), 'The job')
}

/**
 * Reads a shard and prepares its vectors.
 * @param tables `present`: where rows may exist already; `previous`: from which vectors of equal passages are copied
 */
export async function prepare(
  run: JobRun,
  number: number,
  tables: { readonly present: Table | undefined; readonly previous: Table | undefined },
): Promise<PreparedShard> {
  const { folder, plan, model, embed, byContent, readyVectors, signal, journal, counters } = run
  signal.throwIfAborted()
  const rows = await readShard(folder, number, plan)
  const shard = await prepareShard(number, rows, {
    ...tables,
    dimension: model.dimension,
    embed,
    byContent,
    ready: await readyVectors?.(number, rows),
    signal,
    onEmbedded: (count) => {
      counters.embedded += count
      report(run, 'indexing')
    },
  })
  const { embedded, skipped } = shard
  if (!isPresent(run, shard)) await journal.add({ step: 'embedded', shard: number, embedded, skipped })
  return shard
}

/**
 * Prepares shards, one ahead of the consumer, which commits them. After the first and then after every 64 of them it calls `compact`.
 * @param compact is given the minimum of excess fragments
 */
export async function* shardsOf<Shard>(
  { signal }: JobRun,
  remaining: readonly number[],
  prepareOne: (number: number) => Promise<Shard>,
  compact: (least: number) => Promise<unknown>,
): AsyncGenerator<Shard> {
  let commits = COMPACT_AFTER - 1
  for await (const shard of prefetchOne(remaining, prepareOne)) {
    yield shard
    if (++commits >= COMPACT_AFTER) {
      commits = 0
      await compact(COMPACT_AFTER)
    }
    signal.throwIfAborted()
  }
}

/** True if the shard was committed before a kill but not recorded in the journal. */
function isPresent({ before }: JobRun, { number, rows }: PreparedShard): boolean {
  return rows.passages.length === 0 && before.shards.has(number)
}

/** Counts a durable shard. */
export function countCommitted(run: JobRun, shard: PreparedShard): void {
  const { counters } = run
  const before = run.before.shards.get(shard.number)
  if (!isPresent(run, shard)) {
    counters.skipped += shard.skipped - (before?.skipped ?? 0)
    counters.embedded -= before?.embedded ?? 0
  }
  if (before === undefined || before.state === 'embedded') counters.committed += shard.ids.length
  report(run, 'indexing')
}

/** The stages after the last passage. */
export function stagesOf(run: JobRun): Stages {
  report(run, 'verifying')
  return new Stages((stage) => report(run, 'verifying', stage))
}

/** Builds the indexes, measures searches and makes all of it durable. @param locked runs the build of the indexes */
export async function finishTable(
  { embed, embedQuestions, policy, onWarning, signal }: JobRun,
  { table, sync, stages }: { readonly table: Table; readonly sync: TableSync; readonly stages: Stages },
  locked: (work: () => Promise<unknown>) => Promise<unknown> = (work) => work(),
): Promise<AnnSettings | undefined> {
  let ann: AnnSettings | undefined
  const measuring = { signal, stages, embed, embedQuestions }
  await locked(async () => (ann = await buildIndexes(table, { ...SEARCH_POLICY, onWarning, ...policy }, measuring)))
  if (embedQuestions) await measureDenseWeight(table, embedQuestions, { signal, stages })
  signal.throwIfAborted()
  await sync.flushWithChecksums()
  return ann
}
