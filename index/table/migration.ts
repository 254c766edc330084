import type { EmbeddingModel } from '../types.ts'
import type { Connection, Table } from './lance.ts'

/** First of the numbered steps: makes an empty table. */
export interface BaseMigration {
  readonly version: number
  readonly name: string
  create(connection: Connection, storedAs: string, model: EmbeddingModel): Promise<Table>
}

/** A numbered step from the schema version before it. */
export interface Migration {
  readonly version: number
  /** What changes, for people. */
  readonly name: string
  /** True for a step that takes moments on a table of any size and that older software does not notice: it is taken when a service starts. */
  readonly automatic: boolean
  /** Does nothing where it was done before; only ever adds nullable columns, so that readers and writers of the version before go on working. */
  up(table: Table): Promise<void>
}
