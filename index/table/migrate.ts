import { base, type Migration, migrations, SCHEMA_VERSION } from '../../migrations/list.ts'
import { type CodedError, invalidIndex, notFound } from '../../base/errors.ts'
import { writing, type Table } from './lance.ts'
import { readMetadata, writeSchemaVersion, type TableMetadata } from './metadata.ts'

/** Why a table's schema version is none that this software can read or migrate; undefined where it is one. */
export function unknownVersion(
  name: string,
  { schemaVersion, requiredVersion }: Pick<TableMetadata, 'schemaVersion' | 'requiredVersion'>,
  known = SCHEMA_VERSION,
): CodedError | undefined {
  const newer = `The table "${name}" was made for newer software (schema version ${requiredVersion}, this one supports ${known}). The table is sound: update this software.`
  if (requiredVersion > known) return invalidIndex('table', newer)
  const unreleased = `The table "${name}" has schema version ${schemaVersion}, which belongs to no release; this software reads ${base.version} and later: index its corpus again, into another table (CEPE_TABLE).`
  if (schemaVersion < base.version) return invalidIndex('table', unreleased)
  return undefined
}

/**
 * Migrates a table to the current schema version, one migration at a time. Reads and writes continue. Resumable after an interruption; does nothing
 * for a current table.
 * @param dryRun only reports what would be done
 * @throws index_invalid for a table of a schema version that is not known.
 */
export async function migrateTable(
  table: Table,
  { dryRun = false, all = migrations }: { readonly dryRun?: boolean; readonly all?: readonly Migration[] } = {},
) {
  await table.checkoutLatest()
  const restoreTo = await table.version()
  const { schemaVersion, requiredVersion } = await readMetadata(table)
  const known = all.at(-1)?.version ?? base.version
  const unknown = unknownVersion(table.storedAs, { schemaVersion, requiredVersion }, known)
  if (unknown !== undefined) throw unknown
  const due = all.filter(({ version }) => version > schemaVersion)
  if (!dryRun) {
    let required = requiredVersion
    for (const migration of due) {
      await writing(table, () => migration.up(table))
      // A backward compatible migration leaves the required version unchanged: running services continue.
      if (!migration.automatic) required = migration.version
      await writing(table, () => writeSchemaVersion(table, migration.version, required))
    }
  }
  return {
    storedAs: table.storedAs,
    /** True if every migration runs automatically. */
    automatic: due.every(({ automatic }) => automatic),
    from: schemaVersion,
    to: Math.max(schemaVersion, known),
    /** Names of the migrations that were run (or would be, in a dry run). */
    migrations: due.map(({ version, name }) => `${String(version).padStart(4, '0')} ${name}`),
    /** LanceDB version before the first migration, for `restoreVersion`. */
    restoreTo,
  }
}

/** Rolls back: makes an earlier LanceDB version of the table, schema and rows, its newest one. Later rows stay in versions between. */
export async function restoreVersion(table: Table, version: number): Promise<void> {
  try {
    await table.checkout(version)
  } catch (error) {
    await table.checkoutLatest()
    throw notFound('version', `The table ${table.storedAs} has no version ${version} any more.`, error)
  }
  await table.restore()
  await table.checkoutLatest()
}
