import type { TableLocation } from '../contract.ts'
import { migrateTable, restoreVersion } from '../table/migrate.ts'
import type { Table } from '../table/lance.ts'
import { indexWords, isWordIndexOutdated } from '../table/words.ts'
import { withLive } from './recover.ts'

interface MigrateOptions extends TableLocation {
  /** Only report what would be done. */
  readonly dryRun?: boolean
  readonly onWarning?: (message: string) => void
}

/**
 * Migrates a live table to the current schema version; reads and writes continue. Idempotent.
 * @returns what was done, and the version for `restoreIndex`
 * @throws index_missing if there is no such table, index_invalid if it is newer than this software
 */
export async function migrateIndex({ dryRun = false, onWarning, ...location }: MigrateOptions) {
  const migrate = async (live: Table) => {
    const done = await migrateTable(live, { dryRun })
    if (!(await isWordIndexOutdated(live))) return done
    if (!dryRun) await indexWords(live)
    return { ...done, migrations: [...done.migrations, 'the word index, for words of any script'] }
  }
  return withLive(location, migrate, onWarning)
}

/**
 * Rolls back a migration: an earlier version of the live table, schema and rows, becomes the newest one.
 * @param version `restoreTo` of the migration's report. Rows written since are no longer in the table.
 * @throws index_missing, or not_found if that version was cleaned up
 */
export async function restoreIndex({ version, ...location }: TableLocation & { readonly version: number }): Promise<void> {
  await withLive(location, (live) => restoreVersion(live, version))
}
