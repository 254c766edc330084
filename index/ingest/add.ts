import { at, counted } from '../../base/at.ts'
import { messageOf } from '../../base/errors.ts'
import { compactTable, fragmentation, KEEP_MS, orLater } from '../compaction/compact.ts'
import type { Table } from '../table/lance.ts'
import { pickHalves } from '../table/rows.ts'
import { TableSync } from '../table/table-sync.ts'
import { tableFolder } from '../versions/alias.ts'
import { incompatibility, migratedMetadata } from '../versions/compatibility.ts'
import { openStored } from '../versions/recover.ts'
import { changeRows } from '../write/change-rows.ts'
import { withMaintenanceLock, withWriterLock } from '../writers/locks.ts'
import { checkSpace, finishTable, report, stagesOf, type JobResult, type JobRun } from './job-run.ts'
import { prepareShard, shardsOf, type PreparedShard } from './shard.ts'
import { verifyShard } from './verify.ts'

/** Adds a planned corpus to the live table, shard by shard; each shard is visible once committed. */
export async function addRows(run: JobRun): Promise<JobResult> {
  const { connection, dir, table: name, model, storedAs, progress, plan, journal, policy, signal, onWarning } = run
  const folder = tableFolder(dir, storedAs)
  const isResumed = progress.shards.size > 0
  const sync = isResumed ? TableSync.distrusting(folder) : await TableSync.start(folder)
  const table = await openStored(connection, storedAs, { onWarning })
  const error = incompatibility(name, await migratedMetadata(table), { model })
  if (error !== undefined) throw error
  // What a killed run wrote is durable before a shard counts.
  if (isResumed) await sync.flush()
  report(run, 'indexing')
  // A warning only: unchanged passages are not written again, and their number is not known in advance.
  await checkSpace(run).catch((error: unknown) => onWarning(messageOf(error)))
  const remaining = [...plan.shard_rows.keys()].filter((number) => progress.shards.get(number)?.state !== 'verified')
  const compact = () => compactTable(table, sync, policy?.keepMs ?? KEEP_MS)
  const prepareOne = (number: number) => prepareShard(run, number, { present: table, previous: table })
  let [leftOut, doubles] = [0, 0]
  const shards = shardsOf(run, remaining, prepareOne, async (least) => {
    // Skipped while another process maintains the table.
    if ((await fragmentation(table)).surplus >= least)
      await withMaintenanceLock(run, { waitMs: 0, signal }, () => orLater(compact, onWarning))
  })
  for await (const shard of shards) {
    const written = await commit(run, shard, { table, sync })
    leftOut += written.leftOut
    doubles += written.doubles
    await journal.add({ step: 'committed', shard: shard.number })
    if (written.version !== undefined) await verifyShard(connection, storedAs, written.version, written.rows)
    await journal.add({ step: 'verified', shard: shard.number })
    report(run, 'indexing')
  }
  const locked = (work: () => Promise<unknown>) => withMaintenanceLock(run, { waitMs: Infinity, signal }, work)
  const ann = await finishTable(run, { table, sync, stages: stagesOf(run) }, locked)
  if (leftOut > 0) onWarning(`Skipped ${counted(leftOut, 'passage')}: changed or deleted after this job was ordered.`)
  if (doubles > 0) onWarning(`Removed ${counted(doubles, 'row')}: older duplicates of the same id.`)
  return { storedAs, rows: await table.countRows(), ann }
}

/** Commits the changed rows of a shard, except ids changed since the job was ordered. */
async function commit(
  run: JobRun,
  { rows: all, ids, ends, doubled }: PreparedShard,
  { table, sync }: { readonly table: Table; readonly sync: TableSync },
) {
  const { model, later, jobId } = run
  const { dimension } = model
  return withWriterLock(run, async () => {
    await table.checkoutLatest()
    await later.read()
    const kept = [...all.passages.keys()].filter((row) => !later.ids.has(at(all.passages, row).id))
    const leftOut = all.passages.length - kept.length
    const halves = pickHalves(all.halves, kept, dimension)
    const rows = { passages: kept.map((row) => at(all.passages, row)), hashes: kept.map((row) => at(all.hashes, row)), halves }
    const job = { id: jobId, later: later.ids }
    const told = ids.filter((id) => !later.ids.has(id))
    const { version, doubles } = await changeRows(run, { table, sync }, { rows, dimension, ends, ids: told, doubled, job })
    return { rows, version, leftOut, doubles }
  })
}
