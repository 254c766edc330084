import { readAlias } from '../versions/alias.ts'
import { unwatchChanges } from '../writers/change-log.ts'
import { connectLance } from '../table/lance.ts'
import { jobFiles } from './plan/job-files.ts'
import { readJournal } from './journal.ts'
import type { RunJobOptions } from './run.ts'

/** Deletes what a cancelled job built but did not promote. */
export async function abandonJob({ dir, table, jobId, folder }: Pick<RunJobOptions, 'dir' | 'table' | 'jobId' | 'folder'>): Promise<void> {
  await unwatchChanges(dir, table, jobId)
  const { target } = await readJournal(jobFiles(folder).journal)
  const alias = await readAlias(dir, table)
  if (target === undefined || !target.replace || alias?.stored_as === target.storedAs) return
  const connection = await connectLance(dir, 0)
  if ((await connection.tableNames()).includes(target.storedAs)) await connection.dropTable(target.storedAs)
  connection.close()
}
