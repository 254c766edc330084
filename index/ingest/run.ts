import { at } from '../../base/at.ts'
import { checkTable, readAlias, tableFolder } from '../versions/alias.ts'
import { buildIndexes, SEARCH_POLICY, type SearchPolicy } from '../search/ann.ts'
import { measureDenseWeight } from '../search/hybrid-weight.ts'
import { TableSync } from '../table/table-sync.ts'
import { CodedError, messageOf } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { connectForWriting, connectLance, writing, type Connection, type Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import type { Embed, EmbeddingModel } from '../contract.ts'
import { ChangeLog, watchChanges } from '../writers/change-log.ts'
import { withWriterLock } from '../writers/writer-lock.ts'
import { withMaintenanceLock } from '../writers/maintenance-lock.ts'
import { Stages, type Stage } from '../stages.ts'
import { Additions } from './additions.ts'
import { jobFiles } from './plan/job-files.ts'
import { promote, notifyEarlierJobs } from './promote.ts'
import { JournalWriter, readJournal, type Progress, type Target } from './journal.ts'
import { plannedBytes, readPlan, type PlannedRow } from './plan/plan.ts'
import { requireSpace, tableBytes } from './space.ts'
import { chooseTarget, openLiveTarget, openOwnTable, openPrevious, targetIsStale } from './target.ts'
import { type Counters, type Phase, type Plan } from './plan/contract.ts'
import { compactWritten, ShardWriter, type WriterParts } from './write-shards.ts'
import { verifyTable } from './verify.ts'

export interface RunJobOptions {
  /** Folder of the tables. */
  readonly dir: string
  readonly table: string
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

/**
 * Indexes a planned corpus: embeds, commits and verifies shard by shard, recording each step in the journal before the next one begins.
 * Resumable: after an interruption it continues where it stopped. The caller holds the job lock.
 * @throws disk_full, conflict or index_invalid; errors of the embedder; the signal's reason once aborted
 */
export async function runJob(options: RunJobOptions): Promise<JobResult> {
  const { dir, table: name, jobId, folder, replace } = options
  const plan = await readPlan(folder)
  if (plan === undefined) throw new CodedError('internal', `The job ${jobId} was not planned. This is a bug.`)
  await checkTable(dir, name, replace)
  const alias = await readAlias(dir, name)
  const before = await readJournal(jobFiles(folder).journal)
  if (before.target?.replace === true && alias?.stored_as === before.target.storedAs) return finished(options, before.target)
  await watchChanges(dir, name, jobId)
  const changeLog = new ChangeLog(dir, name, jobId)
  await changeLog.read()
  if (changeLog.replacedBy !== undefined) return { storedAs: '', rows: 0, supersededBy: changeLog.replacedBy }
  const journal = await JournalWriter.open(jobFiles(folder).journal)
  const connection = await connectForWriting(dir)
  try {
    const keep =
      before.target !== undefined && !(await targetIsStale(connection, dir, { target: before.target, alias, replace, later: changeLog }))
    const target = keep && before.target !== undefined ? before.target : chooseTarget(alias, name, jobId, replace)
    if (!keep) await journal.add({ step: 'target', replace: target.replace, stored_as: target.storedAs })
    const progress: Progress = keep ? before : { target, shards: new Map(), carrying: false }
    return await new Run({ options, plan, target, before: progress, journal, connection, changeLog }).run()
  } catch (error) {
    throw failureOf(error) ?? error
  } finally {
    connection.close()
    await journal.close()
  }
}

/** Handles a kill between the promotion and the last journal entry. */
async function finished(
  { dir, table: name, jobId, replace, model, onWarning = () => undefined }: RunJobOptions,
  { storedAs }: Target,
): Promise<JobResult> {
  const connection = await connectLance(dir, 0)
  const table = await openLiveTarget({ connection, dir, model, onWarning }, storedAs)
  await withWriterLock(dir, name, () => notifyEarlierJobs({ dir, table: name, jobId, replace, own: table }))
  const rows = await table.countRows()
  connection.close()
  return { storedAs, rows }
}

async function dropIndexes(table: Table): Promise<void> {
  for (const { name } of await table.listIndices()) await writing(table, () => table.dropIndex(name))
}

interface RunParts {
  readonly options: RunJobOptions
  readonly plan: Plan
  readonly target: Target
  readonly before: Progress
  readonly journal: JournalWriter
  readonly connection: Connection
  readonly changeLog: ChangeLog
}

class Run {
  readonly #options: RunJobOptions
  readonly #plan: Plan
  readonly #target: Target
  readonly #before: Progress
  readonly #journal: JournalWriter
  readonly #connection: Connection
  readonly #counters: Counters
  readonly #changeLog: ChangeLog

  constructor({ options, plan, target, before, journal, connection, changeLog }: RunParts) {
    this.#options = options
    this.#changeLog = changeLog
    this.#plan = plan
    this.#target = target
    this.#before = before
    this.#journal = journal
    this.#connection = connection
    this.#counters = { read: plan.read, rejected: plan.rejected, accepted: plan.accepted, embedded: 0, skipped: 0, committed: 0 }
    for (const [number, shard] of before.shards) {
      this.#counters.embedded += shard.embedded
      this.#counters.skipped += shard.skipped
      if (shard.state !== 'embedded') this.#counters.committed += at(plan.shard_rows, number)
    }
  }

  async run(): Promise<JobResult> {
    const { dir, table: name, jobId, model, signal } = this.#options
    const { replace, storedAs } = this.#target
    const onWarning = this.#options.onWarning ?? (() => undefined)
    const policy = { ...SEARCH_POLICY, onWarning, ...this.#options.policy }
    const alias = await readAlias(dir, name)
    const folder = tableFolder(dir, storedAs)
    const sync = replace || this.#before.shards.size > 0 ? TableSync.distrusting(folder) : await TableSync.start(folder)
    const opening = { connection: this.#connection, dir, model, onWarning }
    const table = await (replace ? openOwnTable : openLiveTarget)(opening, storedAs)
    // Compaction would update them repeatedly; they are built at the end.
    if (replace && this.#before.shards.size === 0) await dropIndexes(table)
    const previous = await openPrevious(opening, alias, this.#target)
    const additions = new Additions({ dir, table: name, jobId, dimension: model.dimension, changeLog: this.#changeLog, sync })
    this.#report('indexing')
    if (!this.#before.carrying) {
      await this.#forecast(onWarning)
      await this.#writer({ table, previous, sync, additions }).write()
    }
    this.#report('verifying')
    const rows = this.#plan.accepted
    const stages = new Stages((stage) => this.#report('verifying', stage))
    if (replace && !this.#before.carrying) {
      // Cheap while the table has neither readers nor indexes: it copies the last shards only. Later it would be the first task of
      // additions.
      await stages.estimated('compacting', rows, () => compactWritten(table, sync, { ...policy, least: 1 }))
      await verifyTable(table, this.#plan, signal, stages.counted('reading back'))
      await this.#journal.add(...this.#plan.shard_rows.map((_, shard) => ({ step: 'verified' as const, shard })))
    }
    const { embed, embedQuestions } = this.#options
    const ann = await this.#maintain(Infinity, () => buildIndexes(table, policy, { signal, stages, embed, embedQuestions }))
    if (embedQuestions) await measureDenseWeight(table, embedQuestions, { signal, stages })
    signal.throwIfAborted()
    await sync.flushWithChecksums()
    if (replace) {
      if (!this.#before.carrying) await this.#journal.add({ step: 'carrying' })
      const carried = await stages.estimated('taking over changes', rows, () =>
        promote({
          dir,
          table: name,
          jobId,
          model,
          embed: this.#options.embed,
          replace: this.#options.replace,
          connection: this.#connection,
          own: table,
          sync,
          changeLog: this.#changeLog,
          signal,
          onWarning,
        }),
      )
      await this.#journal.add({ step: 'live' })
      if (carried > 0) onWarning(`${carried} passages were changed or deleted in the live table during the job; the newer state is kept.`)
    }
    if (additions.leftOut > 0)
      onWarning(`${additions.leftOut} passages were skipped: they were changed or deleted after this job was ordered.`)
    if (additions.doubles > 0) onWarning(`${additions.doubles} rows were removed: older duplicates of the same id.`)
    return { storedAs, rows: await table.countRows(), ann }
  }

  /**
   * Runs `work` while no other process compacts the live table.
   * @returns undefined if the lock was held for longer than `waitMs`
   */
  async #maintain<T>(waitMs: number, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#target.replace) return work()
    const { dir, table, signal } = this.#options
    let result: T | undefined
    await withMaintenanceLock(dir, table, { waitMs, signal }, async () => (result = await work()))
    return result
  }

  /**
   * Checks that the remaining rows fit on the disk. For a live table this is a warning only, since unchanged passages are not written again
   * and their number is not known in advance.
   */
  async #forecast(onWarning: (message: string) => void): Promise<void> {
    const { dir, folder, model } = this.#options
    const { replace } = this.#target
    const first = [...this.#plan.shard_rows.keys()].find((number) => !this.#before.shards.has(number))
    if (first === undefined) return
    const rows = this.#plan.shard_rows.slice(first).reduce((sum, size) => sum + size, 0)
    const bytes = tableBytes(await plannedBytes(folder, this.#plan, first), rows, model.dimension)
    await requireSpace(dir, bytes, 'The job').catch((error: unknown) => {
      if (replace) throw error
      onWarning(messageOf(error))
    })
  }

  #writer(where: Pick<WriterParts, 'table' | 'previous' | 'sync' | 'additions'>): ShardWriter {
    return new ShardWriter({
      ...where,
      options: this.#options,
      plan: this.#plan,
      target: this.#target,
      before: this.#before,
      journal: this.#journal,
      connection: this.#connection,
      counters: this.#counters,
      report: () => {
        this.#report('indexing')
      },
    })
  }

  #report(phase: Phase, stage?: Stage): void {
    this.#options.onProgress?.(phase, { ...this.#counters }, stage)
  }
}
