import { contentHash } from '../hash.ts'
import { passageText } from '../contract.ts'
import { readAlias, writeAlias } from '../versions/alias.ts'
import { appendChange, watchingJobs } from '../writers/change-log.ts'
import { packVectors, PASSAGE_COLUMNS, passagesOf, type Rows, stringsIn } from '../table/rows.ts'
import { isOfModel } from '../versions/compatibility.ts'
import type { Table } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { migrateTable } from '../table/migrate.ts'
import { openStored } from '../versions/recover.ts'
import { chunks, deleteRows, mergeRows, sqlIds } from '../table/write.ts'
import type { TableSync } from '../table/table-sync.ts'
import { rowsOf } from '../write/change-rows.ts'
import { withWriterLock } from '../writers/locks.ts'
import type { JobRun, RunJobOptions } from './job-run.ts'
import { verifyShard } from './verify.ts'

/** Passages per commit and per change log entry. */
const ROWS_PER_COMMIT = 1000
/** Rounds of catching up before the last step, during which writers wait. */
const CATCH_UP_ROUNDS = 5

/**
 * Promotes a job's own table to the live one. First catches up with the changes of the live table since the job was created:
 * changed passages are copied with their vectors, deleted ones are deleted. Idempotent after an interruption.
 * @returns the number of passages copied or deleted.
 */
export async function promote(run: JobRun, own: Table, sync: TableSync): Promise<number> {
  const { later: changeLog, signal } = run
  await changeLog.read()
  // All of them first, including those read before; then later ones.
  let fresh: ReadonlySet<string> = new Set(changeLog.ids)
  for (let round = 0; round < CATCH_UP_ROUNDS && fresh.size > 0; round++) {
    await catchUp([...fresh], run, own)
    signal.throwIfAborted()
    fresh = await changeLog.read()
  }
  await withWriterLock(run, async () => {
    await catchUp([...fresh, ...(await changeLog.read())], run, own)
    await sync.flush()
    await writeAlias(run, own.storedAs)
    await notifyEarlierJobs(run, own)
  })
  return changeLog.ids.size
}

/** Records in the change logs of earlier unfinished jobs that this job replaced the table. */
export async function notifyEarlierJobs(job: RunJobOptions, own: Table): Promise<void> {
  const { jobId, replace } = job
  if ((await watchingJobs(job)).every((job) => job >= jobId)) return
  if (replace) return appendChange(job, { replaced_by: jobId }, jobId)
  for await (const batch of own.query().select(['id'])) {
    for (const some of chunks(stringsIn(batch, 'id'), ROWS_PER_COMMIT)) await appendChange(job, { ids: some }, jobId)
  }
}

async function catchUp(ids: readonly string[], run: JobRun, own: Table): Promise<void> {
  const { connection, model, onWarning, signal } = run
  const storedAs = await readAlias(run)
  if (ids.length === 0 || storedAs === undefined) return
  using live = await openStored(connection, storedAs, { onWarning })
  // Another process may have promoted it since this process checked.
  await migrateTable(live)
  const sameModel = isOfModel(await readMetadata(live), model)
  for (const some of chunks(ids, ROWS_PER_COMMIT)) {
    signal.throwIfAborted()
    const rows = await readRows(live, some, sameModel, run)
    const present = new Set(rows.passages.map(({ id }) => id))
    const gone = some.filter((id) => !present.has(id))
    await deleteRows(own, gone)
    if (present.size > 0) await verifyShard(connection, own.storedAs, await mergeRows(own, rows, model.dimension), rows)
  }
}

/** Reads passages of the live table with vectors of the job's model. */
async function readRows(live: Table, ids: readonly string[], sameModel: boolean, { model, embed, signal }: JobRun): Promise<Rows> {
  const { dimension } = model
  const columns = [...PASSAGE_COLUMNS, 'vector']
  const found = await live.query().where(sqlIds(ids)).select(columns).toArrow()
  const rows = [...new Map(stringsIn(found, 'id').map((id, row) => [id, row])).values()]
  if (sameModel) return rowsOf(found, { rows, dimension })
  const passages = rows.map(passagesOf(found))
  const vectors = passages.length === 0 ? [] : await embed(passages.map(passageText), signal)
  return { passages, hashes: passages.map(contentHash), halves: packVectors(passages, vectors, dimension) }
}
