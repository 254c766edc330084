import type { Field, Schema } from 'apache-arrow'

/** Base of the numbered migrations: the columns of an empty table. Tables of earlier versions are rejected. */
export interface BaseMigration {
  readonly version: number
  readonly name: string
  /** @param dimension numbers per vector. */
  schema(dimension: number): Schema
}

/** The part of a table that a migration may use: read and add columns. */
interface MigratingTable {
  schema(): Promise<{ readonly fields: readonly { readonly name: string }[] }>
  addColumns(columns: { name: string; valueSql: string }[]): Promise<unknown>
  /** Adds columns without values. */
  addEmptyColumns(fields: readonly Field[]): Promise<unknown>
}

/** A numbered migration from the previous schema version. */
export interface Migration {
  readonly version: number
  /** What changes, for messages. */
  readonly name: string
  /** True if it is quick for any size and backward compatible: it then runs when a service starts. */
  readonly automatic: boolean
  /** Idempotent. Only adds nullable columns, so that readers and writers of the previous version keep working. */
  up(table: MigratingTable): Promise<void>
}
