import { Type, type Static } from '#typebox'
import type { Models } from './contract.ts'

export interface TableOptions {
  /** Folder of the tables. */
  readonly dir: string
  readonly table: string
}

export const SnapshotSchema = Type.Object({
  name: Type.String(),
  table: Type.String(),
  created_at: Type.String(),
  rows: Type.Integer(),
  model: Type.String(),
})
export type Snapshot = Static<typeof SnapshotSchema>

/** The snapshots of tables; errors as of the functions in snapshots/snapshots.ts. */
export interface Snapshots {
  createSnapshot(name: string, options: TableOptions): Promise<Snapshot>
  listSnapshots(options: TableOptions): Promise<(Snapshot & { readonly bytes: number })[]>
  restoreSnapshot(name: string, options: TableOptions & Models): Promise<number>
  deleteSnapshot(name: string, options: TableOptions): Promise<void>
}
