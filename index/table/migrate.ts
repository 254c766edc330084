import { base, migrations } from '../../migrations/list.ts'
import { CodedError } from '../../base/errors.ts'
import { textIndexConfig, writing, type Connection, type Table } from './lance.ts'
import { readMetadata, writeSchemaVersion } from './metadata.ts'
import type { EmbeddingModel } from '../types.ts'

/** Schema version that this software reads and writes. */
export const SCHEMA_VERSION = migrations.at(-1)?.version ?? base.version

export interface MigrationReport {
  readonly storedAs: string
  /** True if every step is one that is taken without asking. */
  readonly automatic: boolean
  readonly from: number
  readonly to: number
  /** Names of the steps that were (or, in a dry run, would be) taken. */
  readonly steps: readonly string[]
  /** LanceDB version before the first step: what `restoreVersion` goes back to. */
  readonly restoreTo: number
}

/**
 * Brings a table to the current schema version, step by step. Reads and writes go on meanwhile; run again after an
 * interruption it takes up where it stopped, and on a current table it does nothing.
 * @throws index_invalid for a table of a later schema version.
 */
export async function migrateTable(table: Table, options: { readonly dryRun?: boolean } = {}): Promise<MigrationReport> {
  await table.checkoutLatest()
  const restoreTo = await table.version()
  const { schemaVersion } = await readMetadata(table)
  if (schemaVersion > SCHEMA_VERSION) {
    throw new CodedError(
      'index_invalid',
      `The table ${table.name} has schema version ${schemaVersion}, this software knows ${SCHEMA_VERSION}: update it.`,
      { field: table.name },
    )
  }
  const steps = migrations.filter((step) => step.version > schemaVersion)
  if (options.dryRun !== true) {
    for (const step of steps) {
      await writing(table, () => step.up(table))
      await writing(table, () => writeSchemaVersion(table, step.version))
    }
  }
  return {
    storedAs: table.name,
    automatic: steps.every((step) => step.automatic),
    from: schemaVersion,
    to: SCHEMA_VERSION,
    steps: steps.map((step) => `${String(step.version).padStart(4, '0')} ${step.name}`),
    restoreTo,
  }
}

/**
 * The way back: makes an earlier LanceDB version of the table, schema and rows, its newest one.
 * Rows written since are no longer in it, but stay reachable under the versions between.
 */
export async function restoreVersion(table: Table, version: number): Promise<void> {
  try {
    await table.checkout(version)
  } catch (error) {
    await table.checkoutLatest()
    throw new CodedError('not_found', `The table ${table.name} has no version ${version} any more.`, { field: 'version', cause: error })
  }
  await table.restore()
  await table.checkoutLatest()
}

/** Columns of the full-text search. */
export const TEXT_COLUMNS = ['text', 'title'] as const

/** Makes an empty table of the current schema. Its full-text indexes exist from the start: words of unindexed rows are found only then. */
export async function createTable(connection: Connection, storedAs: string, model: EmbeddingModel): Promise<Table> {
  const table = await base.create(connection, storedAs, model)
  await migrateTable(table)
  for (const column of TEXT_COLUMNS) await table.createIndex(column, { config: textIndexConfig() })
  return table
}
