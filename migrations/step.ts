import type { Field, Schema } from 'apache-arrow'

/** First of the numbered steps: the columns of an empty table. */
export interface BaseMigration {
  readonly version: number
  readonly name: string
  /** @param dimension numbers per vector. */
  schema(dimension: number): Schema
}

/** What a step may do to a table: look at its columns and add some. */
export interface MigratingTable {
  schema(): Promise<{ readonly fields: readonly { readonly name: string }[] }>
  addColumns(columns: { name: string; valueSql: string }[]): Promise<unknown>
  /** Adds columns without a value in any row. */
  addEmptyColumns(fields: readonly Field[]): Promise<unknown>
}

/** A numbered step from the schema version before it. */
export interface Migration {
  readonly version: number
  /** What changes, for people. */
  readonly name: string
  /** True for a step that takes moments on a table of any size and that older software does not notice: it is taken when a service starts. */
  readonly automatic: boolean
  /** Does nothing where it was done before; only ever adds nullable columns, so that readers and writers of the version before go on working. */
  up(table: MigratingTable): Promise<void>
}
