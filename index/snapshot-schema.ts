import { Type, type Static } from 'typebox'
import type { Models, TableLocation } from './contract.ts'

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
  createSnapshot(name: string, options: TableLocation): Promise<Snapshot>
  listSnapshots(options: TableLocation): Promise<(Snapshot & { readonly bytes: number })[]>
  restoreSnapshot(name: string, options: TableLocation & Models): Promise<number>
  deleteSnapshot(name: string, options: TableLocation): Promise<void>
}
