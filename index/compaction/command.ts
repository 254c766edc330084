import type { TableLocation } from '../contract.ts'
import { bytesUnder } from '../store/store-of.ts'
import { storedNameOf, tableFolder } from '../versions/alias.ts'
import { cleanTable, compactTable, type Fragmentation, fragmentation, oldVersions } from './compact.ts'
import { connectForWriting } from '../table/lance.ts'
import { openStored } from '../versions/recover.ts'
import { TableSync } from '../table/table-sync.ts'
import { withMaintenanceLock } from '../writers/locks.ts'
import { CodedError } from '../../base/errors.ts'

/** How long to wait for a running compaction of a service; a job takes longer. */
const WAIT_MS = 60_000

export interface CompactionCommandOptions extends TableLocation {
  /** compact: compact small files, then clean up. cleanup: only remove the files of expired versions. */
  readonly task: 'compact' | 'cleanup'
  /** How long to keep replaced files, in milliseconds. */
  readonly keepMs: number
  readonly dryRun: boolean
}

export interface CompactionReport {
  readonly before: FragmentationState
  /** Absent after a dry run. */
  readonly after?: FragmentationState
}

export interface FragmentationState extends Fragmentation {
  /** Versions whose files have expired. */
  readonly oldVersions: number
  /** Bytes of all files of the table. */
  readonly diskBytes: number
}

/**
 * Compacts a live table from outside the serving process; reads and writes continue.
 * @throws index_missing, disk_full, conflict
 */
export async function compactionCommand({ dir, table: name, task, keepMs, dryRun }: CompactionCommandOptions): Promise<CompactionReport> {
  const storedAs = await storedNameOf({ dir, table: name })
  const folder = tableFolder(dir, storedAs)
  const sync = await TableSync.start(folder)
  const connection = await connectForWriting(dir)
  try {
    const table = await openStored(connection, dir, storedAs)
    const state = async (): Promise<FragmentationState> => ({
      ...(await fragmentation(table)),
      oldVersions: await oldVersions(table, keepMs),
      diskBytes: await bytesUnder(folder),
    })
    const before = await state()
    if (dryRun) return { before }
    const done = await withMaintenanceLock({ dir, table: name }, { waitMs: WAIT_MS }, async () => {
      if (task === 'compact') await compactTable(table, sync, { keepMs, mostSegments: 1 })
      else await cleanTable(table, keepMs)
      await sync.flushWithChecksums()
    })
    if (!done)
      throw new CodedError('conflict', `A job is building the indexes of "${name}". Compact the table when the job has ended.`, {
        field: 'table',
      })
    return { before, after: await state() }
  } finally {
    connection.close()
  }
}
