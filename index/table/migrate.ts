import { base, migrations } from '../../migrations/list.ts'
import { CodedError } from '../../base/errors.ts'
import type { Migration } from '../../migrations/step.ts'
import { writing, type Table } from './lance.ts'
import { readMetadata, writeSchemaVersion } from './metadata.ts'

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
 * Brings a table to the current schema version, step by step. Reads and writes continue; run again after an
 * interruption it takes up where it stopped, and on a current table it does nothing.
 * @throws index_invalid for a table of a later schema version.
 */
export async function migrateTable(table: Table, options: { readonly dryRun?: boolean } = {}): Promise<MigrationReport> {
  await table.checkoutLatest()
  const restoreTo = await table.version()
  const { schemaVersion, requiredVersion } = await readMetadata(table)
  if (requiredVersion > SCHEMA_VERSION) {
    throw new CodedError(
      'index_invalid',
      `The table ${table.storedAs} was made for newer software (schema version ${requiredVersion}, this one knows ${SCHEMA_VERSION}). The table is sound: update this software.`,
      { field: table.storedAs },
    )
  }
  const steps = migrations.filter((step) => step.version > schemaVersion)
  if (options.dryRun !== true) {
    let required = requiredVersion
    for (const step of steps) {
      await writing(table, () => step.up(table))
      required = requiredAfter(step, required)
      await writing(table, () => writeSchemaVersion(table, step.version, required))
    }
  }
  return {
    storedAs: table.storedAs,
    automatic: steps.every((step) => step.automatic),
    from: schemaVersion,
    to: Math.max(schemaVersion, SCHEMA_VERSION),
    steps: steps.map((step) => `${String(step.version).padStart(4, '0')} ${step.name}`),
    restoreTo,
  }
}

/** Software of this version and before compares the version that it must know with its own for equality. */
const LAST_STRICT = 2

/** A step that older software does not notice leaves the version that software must know as it is: running services go on. */
function requiredAfter(step: Migration, required: number): number {
  return step.automatic && step.version > LAST_STRICT ? required : step.version
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
    throw new CodedError('not_found', `The table ${table.storedAs} has no version ${version} any more.`, { field: 'version', cause: error })
  }
  await table.restore()
  await table.checkoutLatest()
}
