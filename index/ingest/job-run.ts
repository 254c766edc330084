/** What building a table and adding to one have in common. */
import { at, sum } from '../../base/at.ts'
import type { Embed, EmbeddingModel, TableLocation } from '../contract.ts'
import { buildIndexes } from '../search/ann.ts'
import { SEARCH_POLICY, type SearchPolicy } from '../search/update-indexes.ts'
import { measureDenseWeight } from '../search/hybrid-weight.ts'
import { Stages, type Stage } from '../stages.ts'
import type { Connection, Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import type { TableSync } from '../table/table-sync.ts'
import type { ChangeLog } from '../writers/change-log.ts'
import type { JournalWriter, Progress } from './journal.ts'
import type { Counters, Phase, Plan } from './plan/contract.ts'
import { plannedBytes, type PlannedRow } from './plan/plan.ts'
import { requireSpace, tableBytes } from './space.ts'

export interface RunJobOptions extends TableLocation {
  readonly model: EmbeddingModel
  readonly embed: Embed
  /** Embeds questions, to measure the weight of dense search and the recall of the vector index on this corpus. */
  readonly embedQuestions?: Embed | undefined
  readonly jobId: string
  /** The job's folder, with the plan. */
  readonly folder: string
  /** True if the corpus replaces the table's content. */
  readonly replace: boolean
  readonly policy?: Partial<SearchPolicy> | undefined
  /** Returns precomputed vectors of a planned shard, float16 in row order; `embed` is then for passages changed during the job. */
  readonly readyVectors?: ((shard: number, rows: readonly PlannedRow[]) => Promise<Uint16Array>) | undefined
  /** True if the corpus is a folder of files: passages of renamed files keep their vectors. */
  readonly byContent?: boolean | undefined
  readonly signal: AbortSignal
  /** `stage`: of the verifying phase. */
  readonly onProgress?: (phase: Phase, counters: Counters, stage?: Stage) => void
  readonly onWarning: (message: string) => void
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
  readonly plan: Plan
  /** The table that is written to. */
  readonly storedAs: string
  readonly progress: Progress
  readonly journal: JournalWriter
  readonly connection: Connection
  /** Changes of the table since the job was ordered. */
  readonly later: ChangeLog
  /** Passages embedded of a shard that is not in the journal yet. */
  embedding: number
}

/** Reports the counters of a job, from its plan and its journal. */
export function report({ onProgress, plan, progress, embedding }: JobRun, phase: Phase, stage?: Stage): void {
  const { read, rejected, accepted, shard_rows } = plan
  const counters = { read, rejected, accepted, embedded: embedding, skipped: 0, committed: 0 }
  for (const [number, shard] of progress.shards) {
    counters.embedded += shard.embedded
    counters.skipped += shard.skipped
    if (shard.state !== 'embedded') counters.committed += at(shard_rows, number)
  }
  onProgress?.(phase, counters, stage)
}

/** Checks that the remaining rows fit on the disk. @throws disk_full */
export async function checkSpace({ dir, folder, model, plan, progress }: JobRun): Promise<void> {
  const first = [...plan.shard_rows.keys()].find((number) => !progress.shards.has(number))
  if (first === undefined) return
  const rows = sum(plan.shard_rows.slice(first))
  await requireSpace(dir, tableBytes(await plannedBytes(folder, plan, first), rows, model.dimension), 'The job')
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
