import { allModels, type Models } from '../../index/contract.ts'
import { removeStale, replacedTables, type ReplacedTable } from '../../index/ingest/remove-stale.ts'
import { tryJobLock } from '../../index/writers/job-lock.ts'
import { JobStore } from './store.ts'

export interface RemoveReplacedOptions {
  /** Folder of the tables. */
  readonly dir: string
  readonly table: string
  readonly jobsDir: string
  /** Models of this process: a table that one still answers from is kept. If undefined, nothing is removed. */
  readonly models: Models | undefined
}

/**
 * Removes replaced tables from the command line, by the same rules as jobs.
 * @returns those that were there, and those kept for now: replaced less than a minute ago, being read, serving another model, or while a
 * job runs
 */
export async function removeReplaced({
  dir,
  table,
  jobsDir,
  models,
}: RemoveReplacedOptions): Promise<Record<'before' | 'after', readonly ReplacedTable[]>> {
  const store = new JobStore(jobsDir)
  const knownJobs = () => store.known(table)
  const before = await replacedTables(dir, table, knownJobs)
  if (models === undefined || before.length === 0) return { before, after: before }
  const lock = await tryJobLock(dir)
  if (lock === undefined) return { before, after: before }
  try {
    await removeStale(dir, table, knownJobs, allModels(models))
  } finally {
    await lock.release()
  }
  return { before, after: await replacedTables(dir, table, knownJobs) }
}
