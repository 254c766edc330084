import type { Field } from 'apache-arrow'
import { base } from './0003-base.ts'

export { base }

/** The part of a table that a migration may use: read and add columns. Those without values are added quickly to a table of any size. */
interface MigratingTable {
  schema(): Promise<{ readonly fields: readonly { readonly name: string }[] }>
  addColumns(columns: { name: string; valueSql: string }[] | Field[]): Promise<unknown>
}

/** A numbered migration from the previous schema version. */
export interface Migration {
  readonly version: number
  /** What changes, for messages. */
  readonly name: string
  /** True if it is quick for any size and backward compatible: it then runs when a table is opened. */
  readonly automatic: boolean
  /** Idempotent. Only adds nullable columns, so that readers and writers of the previous version keep working. */
  up(table: MigratingTable): Promise<void>
}

/** Every migration after the base, in order. */
export const migrations: readonly Migration[] = []

/** Schema version that this software reads and writes. */
export const SCHEMA_VERSION = migrations.at(-1)?.version ?? base.version
