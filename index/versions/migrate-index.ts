import { readAlias, storedNameOf, tableFolder } from './alias.ts'
import type { TableLocation } from '../contract.ts'
import { TableSync } from '../table/table-sync.ts'
import { lanceText } from '../../base/failures.ts'
import { connectForWriting, type Table } from '../table/lance.ts'
import { migrateTable, restoreVersion, type MigrationReport } from '../table/migrate.ts'
import { indexWords, isWordIndexOutdated } from '../table/words.ts'
import { openStored } from './recover.ts'

export interface MigrateOptions extends TableLocation {
  /** Only report what would be done. */
  readonly dryRun?: boolean
  readonly onWarning?: (message: string) => void
}

/**
 * Migrates a live table to the current schema version; reads and writes continue. Idempotent.
 * @returns what was done, and the version for `restoreIndex`
 * @throws index_missing if there is no such table, index_invalid if it is newer than this software
 */
export async function migrateIndex({ dryRun = false, onWarning, ...location }: MigrateOptions): Promise<MigrationReport> {
  return withLive(location, onWarning, async (live) => {
    const done = await migrateTable(live, { dryRun })
    if (!(await isWordIndexOutdated(live))) return done
    if (!dryRun) await indexWords(live)
    return { ...done, migrations: [...done.migrations, 'the word index, for words of any script'] }
  })
}

/**
 * Runs automatic migrations at the start of a service. If others are pending, none is run, and using the table reports them. A table that
 * cannot be opened does not prevent the start: it is reported by `onWarning` and on use.
 */
export async function migrateAutomatically(location: TableLocation, onWarning: (message: string) => void): Promise<void> {
  try {
    if ((await readAlias(location)) === undefined) return
    await withLive(location, onWarning, async (live) => {
      const due = await migrateTable(live, { dryRun: true })
      if (due.migrations.length > 0 && due.automatic) await migrateTable(live)
    })
  } catch (error) {
    onWarning(lanceText(error))
  }
}

/**
 * Rolls back a migration: an earlier version of the live table, schema and rows, becomes the newest one.
 * @param version `restoreTo` of the migration's report. Rows written since are no longer in the table.
 * @throws index_missing, or not_found if that version was cleaned up
 */
export async function restoreIndex({ version, ...location }: TableLocation & { readonly version: number }): Promise<void> {
  await withLive(location, undefined, (live) => restoreVersion(live, version))
}

async function withLive<T>(
  location: TableLocation,
  onWarning: ((message: string) => void) | undefined,
  use: (live: Table) => Promise<T>,
): Promise<T> {
  const { dir } = location
  const storedAs = await storedNameOf(location)
  const sync = await TableSync.start(tableFolder(dir, storedAs))
  const connection = await connectForWriting(dir)
  try {
    const result = await use(await openStored(connection, dir, storedAs, { onWarning }))
    await sync.flush()
    return result
  } finally {
    connection.close()
  }
}
