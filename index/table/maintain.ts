import { treeBytes } from '../store/tree.ts'
import { readAlias, tableFolder } from './alias.ts'
import { cleanTable, compactTable, fragmentation, oldVersions } from './compact.ts'
import { connectForWriting } from './lance.ts'
import { openStored } from './recover.ts'
import { TableSync } from './table-sync.ts'
import { upkeep } from './upkeep.ts'
import { CodedError } from '../../base/errors.ts'

/** How long to wait for a service that tidies; a job takes longer. */
const WAIT_MS = 60_000

export interface MaintainOptions {
  /** Folder of the tables. */
  readonly dir: string
  readonly table: string
  /** compact: put small files together, then clean up. cleanup: only remove files that nobody reads any more. */
  readonly task: 'compact' | 'cleanup'
  /** How long files that were replaced are kept, in milliseconds. */
  readonly keepMs: number
  /** Only say what there is to do. */
  readonly dryRun: boolean
}

export interface MaintenanceReport {
  readonly before: State
  /** Absent after a dry run. */
  readonly after?: State
}

export interface State {
  readonly fragments: number
  /** Fragments that compaction would put together. */
  readonly surplus: number
  /** Versions whose files are past their time. */
  readonly oldVersions: number
  /** Bytes of the newest version, and of all files of the table. */
  readonly bytes: number
  readonly diskBytes: number
}

/**
 * Tidies a live table from outside the serving process; reads and writes go on meanwhile.
 * @throws index_missing, disk_full, conflict
 */
export async function maintainTable({ dir, table: name, task, keepMs, dryRun }: MaintainOptions): Promise<MaintenanceReport> {
  const storedAs = (await readAlias(dir, name))?.stored_as
  if (typeof storedAs !== 'string')
    throw new CodedError('index_missing', `There is no table "${name}" in ${dir}: nothing to tidy.`, { field: 'table' })
  const folder = tableFolder(dir, storedAs)
  const sync = await TableSync.start(folder)
  const connection = await connectForWriting(dir)
  try {
    const table = await openStored(connection, dir, storedAs, () => undefined)
    const state = async (): Promise<State> => ({
      ...(await fragmentation(table)),
      oldVersions: await oldVersions(table, keepMs),
      diskBytes: await treeBytes(folder),
    })
    const before = await state()
    if (dryRun) return { before }
    const done = await upkeep(dir, name, { waitMs: WAIT_MS }, async () => {
      if (task === 'compact') await compactTable(table, sync, { keepMs, mostSegments: 1 })
      else await cleanTable(table, keepMs)
      await sync.flush()
    })
    if (!done)
      throw new CodedError('conflict', `A job makes the indexes of "${name}": tidy the table when it has ended.`, { field: 'table' })
    return { before, after: await state() }
  } finally {
    connection.close()
  }
}
