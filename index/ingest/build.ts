import { at, counted } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { lanceText } from '../../base/failures.ts'
import { compactTable, fragmentation } from '../compaction/compact.ts'
import type { EmbeddingModel } from '../contract.ts'
import { storeOf } from '../store/store-of.ts'
import { createTable } from '../table/create.ts'
import { writing, type Table } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { migrateTable } from '../table/migrate.ts'
import { arrowTable } from '../table/rows.ts'
import { TableSync } from '../table/table-sync.ts'
import { readWordIndex } from '../table/words.ts'
import { readAlias, tableFolder } from '../versions/alias.ts'
import { incompatibility, isOfModel } from '../versions/compatibility.ts'
import { hasVersion, openStored, rollbackUnreadable } from '../versions/recover.ts'
import { checkSpace, finishTable, report, stagesOf, type JobResult, type JobRun } from './job-run.ts'
import { promote } from './promote.ts'
import { prepareShard, shardsOf } from './shard.ts'
import { verifyTable } from './verify.ts'

/** Builds a table of a planned corpus beside the live one, verifies it as a whole and promotes it. */
export async function buildTable(run: JobRun): Promise<JobResult> {
  const { dir, storedAs, progress, plan, journal, signal, onWarning } = run
  const sync = TableSync.distrusting(tableFolder(dir, storedAs))
  const table = await openOwnTable(run)
  // Compaction would update them repeatedly; they are built at the end.
  if (progress.shards.size === 0) for (const { name } of await table.listIndices()) await writing(table, () => table.dropIndex(name))
  report(run, 'indexing')
  if (!progress.carrying) await writeShards(run, table, sync)
  const stages = stagesOf(run)
  if (!progress.carrying) {
    // Cheap while the table has neither readers nor indexes: it copies the last shards only.
    await stages.estimated('compacting', plan.accepted, () => compactWritten(table, sync, 1))
    await verifyTable(table, plan, signal, stages.counted('reading back'))
    await journal.add(...plan.shard_rows.map((_, shard) => ({ step: 'verified' as const, shard })))
  }
  const ann = await finishTable(run, { table, sync, stages })
  if (!progress.carrying) await journal.add({ step: 'carrying' })
  const carried = await stages.estimated('taking over changes', plan.accepted, () => promote(run, table, sync))
  await journal.add({ step: 'live' })
  if (carried > 0) onWarning(`Kept the newer state of ${counted(carried, 'passage')}: changed or deleted in the live table during the job.`)
  return { storedAs, rows: await table.countRows(), ann }
}

/**
 * Writes the remaining shards of a plan in order, as a pipeline: while one is written, the next is prepared and the previous one is fsynced.
 * @throws errors of the embedder; disk_full, conflict or index_invalid; the signal's reason once aborted
 */
async function writeShards(run: JobRun, table: Table, sync: TableSync): Promise<void> {
  const { plan, model, journal } = run
  await checkSpace(run)
  const previous = await openPrevious(run)
  const known = await trusted(run, table)
  const remaining = [...plan.shard_rows.keys()].filter((number) => known.get(number) !== 'committed')
  /** Makes the shard before durable. */
  let behind = Promise.resolve()
  const prepareOne = async (number: number) => {
    const shard = await prepareShard(run, number, { present: known.has(number) ? table : undefined, previous })
    // Encoded while the previous shard is committed.
    return { ...shard, source: arrowTable(shard.rows, model.dimension) }
  }
  const shards = shardsOf(run, remaining, prepareOne, async (least) => {
    await behind
    await compactWritten(table, sync, least)
  })
  try {
    for await (const { source, ...shard } of shards) {
      if (shard.rows.passages.length > 0) await writing(table, () => table.add(source))
      await behind
      const force = await sync.written()
      behind = force()
        .then(() => journal.add({ step: 'committed', shard: shard.number }))
        .then(() => report(run, 'indexing'))
      // Its error is thrown where it is awaited.
      behind.catch(() => undefined)
    }
  } finally {
    await behind
  }
}

/**
 * Bounds the number of fragments, and with it the size of every version's manifest, which lists them all. The table has no readers: old
 * files are removed at once.
 * @param least minimum of excess fragments
 */
async function compactWritten(table: Table, sync: TableSync, least: number): Promise<void> {
  if ((await fragmentation(table)).surplus >= least) await compactTable(table, sync, 0)
}

/**
 * Returns the states of shards that the journal names. The row count of the table confirms them; after a damaged manifest was quarantined it
 * may not, and then every shard is looked up.
 */
async function trusted({ plan, progress, onWarning }: JobRun, table: Table): Promise<ReadonlyMap<number, 'committed' | 'embedded'>> {
  const states = [...progress.shards].map(([number, { state }]) => ({ number, isCommitted: state !== 'embedded' }))
  const sizeOf = (all: typeof states): number => all.reduce((sum, { number }) => sum + at(plan.shard_rows, number), 0)
  const expected = sizeOf(states.filter(({ isCommitted }) => isCommitted))
  const damage = await rollbackUnreadable(table, expected)
  if (damage !== undefined)
    onWarning(
      `The last rows could not be read (${lanceText(damage)}), for example after a power loss. They were rolled back and are written again.`,
    )
  let surplus = (await table.countRows()) - expected
  // Shards are written in the plan's order, so those in the table are the first of those without a `committed` entry.
  const open = states.filter(({ isCommitted }) => !isCommitted).sort((a, b) => a.number - b.number)
  for (const one of open) if (surplus > 0) surplus -= sizeOf([one])
  return new Map(states.map(({ number, isCommitted }) => [number, isCommitted && surplus === 0 ? 'committed' : 'embedded']))
}

/** Opens the job's own table: the one it started, or a new one if there is none, its creation was interrupted, or the model has changed. */
async function openOwnTable(run: JobRun): Promise<Table> {
  const { connection, dir, storedAs, model, onWarning } = run
  if ((await connection.tableNames()).includes(storedAs)) {
    const folder = tableFolder(dir, storedAs)
    // A table whose creation or removal was interrupted has none.
    const table = (await hasVersion(folder)) ? await openStored(connection, storedAs, { onWarning, unused: true }) : undefined
    if (table !== undefined && (await isUsable(table, model))) return table
    table?.close()
    await storeOf(folder).files.removeTree(folder)
  }
  // The language that was chosen for the words of the table that is replaced.
  using live = await openLive(run)
  const language = live && (await readWordIndex(live)).chosen
  return createTable(connection, storedAs, model, language)
}

/** A table with rows was created completely; it may have an earlier schema if this software was updated since. */
async function isUsable(table: Table, model: EmbeddingModel): Promise<boolean> {
  try {
    if ((await table.countRows()) > 0) await migrateTable(table)
    return incompatibility(table.storedAs, await readMetadata(table), { model }) === undefined
  } catch (error) {
    if (error instanceof CodedError) return false
    throw error
  }
}

/** Opens the live table if its vectors can be reused; a damaged one is replaced without. */
async function openPrevious(run: JobRun): Promise<Table | undefined> {
  const table = await openLive(run, run.onWarning)
  if (table === undefined || isOfModel(await readMetadata(table), run.model)) return table
  table.close()
  return undefined
}

/** Opens the live table; undefined if there is none, or if it is damaged, after `onWarning`. */
async function openLive(run: JobRun, onWarning?: (message: string) => void): Promise<Table | undefined> {
  const storedAs = await readAlias(run)
  try {
    return storedAs === undefined ? undefined : await openStored(run.connection, storedAs, { onWarning })
  } catch (error) {
    if (!(error instanceof CodedError && error.code === 'index_invalid')) throw error
    onWarning?.(error.message)
    return undefined
  }
}
