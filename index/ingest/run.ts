import { CodedError } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { connectForWriting, connectLance, type Table } from '../table/lance.ts'
import { stringsIn } from '../table/rows.ts'
import { checkTable, readAlias, storedName } from '../versions/alias.ts'
import { openStored, withLive } from '../versions/recover.ts'
import { ChangeLog, unwatchChanges, watchChanges } from '../writers/change-log.ts'
import { withWriterLock } from '../writers/locks.ts'
import { addRows } from './add.ts'
import { buildTable } from './build.ts'
import type { JobResult, JobRun, RunJobOptions } from './job-run.ts'
import { openJournal, type Progress, readJournal } from './journal.ts'
import { jobFiles } from './plan/contract.ts'
import { readPlan } from './plan/plan.ts'
import { notifyEarlierJobs } from './promote.ts'

/**
 * Indexes a planned corpus: embeds, commits and verifies shard by shard, recording each step in the journal before the next one begins.
 * Builds a new table if the job replaces the corpus or there is no table: questions are answered from the old one until the new one is
 * complete and verified. Otherwise adds to the live table, so that adding a file to 21 million passages does not copy them.
 * Resumable: after an interruption it continues where it stopped. The caller holds the job lock.
 * @throws disk_full, conflict or index_invalid; errors of the embedder; the signal's reason once aborted
 */
export async function runJob(options: RunJobOptions): Promise<JobResult> {
  const { dir, table: name, jobId, folder, replace } = options
  const plan = await readPlan(folder)
  if (plan === undefined) throw new CodedError('internal', `The job ${jobId} was not planned. This is a bug.`)
  await checkTable(options, replace)
  const live = await readAlias(options)
  const progress = await readJournal(jobFiles(folder).journal)
  let { target } = progress
  const own = storedName(name, jobId)
  if (target?.isOwn === true && live === own && target.storedAs === own) return finished(options, live)
  await watchChanges(options, jobId)
  const later = new ChangeLog(options, jobId)
  await later.read()
  if (later.replacedBy !== undefined) return { storedAs: '', rows: 0, supersededBy: later.replacedBy }
  await using journal = await openJournal(jobFiles(folder).journal, progress)
  using connection = await connectForWriting(dir)
  try {
    if (target === undefined || (await targetIsStale({ ...options, connection, later }, target, live))) {
      const isOwn = replace || live === undefined
      target = { isOwn, storedAs: isOwn ? own : live }
      await journal.add({ step: 'target', replace: isOwn, stored_as: target.storedAs, job: jobId })
    }
    const run = { ...options, plan, storedAs: target.storedAs, progress, journal, connection, later, embedding: 0 }
    return await (target.isOwn ? buildTable : addRows)(run)
  } catch (error) {
    throw failureOf(error) ?? error
  }
}

/**
 * True if a chosen target no longer applies because another job created or replaced the live table, or the journal is that of another job.
 * A table created by an upsert while a first job was building does not count: the job copies its passages.
 */
async function targetIsStale(
  { table: name, jobId, replace, connection, later }: Pick<JobRun, 'table' | 'jobId' | 'replace' | 'connection' | 'later'>,
  target: NonNullable<Progress['target']>,
  live: string | undefined,
): Promise<boolean> {
  if ((target.job ?? jobId) !== jobId || target.storedAs !== (target.isOwn ? storedName(name, jobId) : live)) return true
  if (!target.isOwn) return false
  if (replace || live === undefined) return false
  const table = await openStored(connection, live)
  for await (const batch of table.query().select(['id'])) if (stringsIn(batch, 'id').some((id) => !later.ids.has(id))) return true
  return false
}

/** Handles a kill between the promotion and the last journal entry. */
function finished(options: RunJobOptions, storedAs: string): Promise<JobResult> {
  const finish = async (table: Table): Promise<JobResult> => {
    await withWriterLock(options, () => notifyEarlierJobs(options, table))
    return { storedAs, rows: await table.countRows() }
  }
  return withLive(options, finish, options.onWarning)
}

/** Deletes what a cancelled job built but did not promote. */
export async function abandonJob({ jobId, ...location }: Pick<RunJobOptions, 'dir' | 'table' | 'jobId'>): Promise<void> {
  const own = storedName(location.table, jobId)
  if ((await readAlias(location)) !== own) {
    using connection = await connectLance(location.dir, 0)
    if ((await connection.tableNames()).includes(own)) await connection.dropTable(own)
  }
  await unwatchChanges(location, jobId)
}
