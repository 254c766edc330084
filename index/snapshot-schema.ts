import { Type, type Static } from 'typebox'
import type { CodedError } from '../base/errors.ts'
import type { Models, TableLocation } from './contract.ts'

export const SnapshotSchema = Type.Object({
  name: Type.String(),
  table: Type.String(),
  created_at: Type.String(),
  rows: Type.Integer(),
  model: Type.String(),
})
export type Snapshot = Static<typeof SnapshotSchema>

/** A snapshot with the bytes that its deletion would free. One that cannot be described has `problem` instead. */
export type ListedSnapshot = { readonly bytes: number } & (
  | (Snapshot & { readonly problem: undefined })
  | ({ readonly name: string; readonly problem: CodedError } & Readonly<Record<'created_at' | 'rows' | 'model', null>>)
)

/** The snapshots of tables; errors as of the functions in snapshots/snapshots.ts. */
export interface Snapshots {
  createSnapshot(name: string, options: TableLocation): Promise<Snapshot>
  listSnapshots(options: TableLocation): Promise<ListedSnapshot[]>
  restoreSnapshot(name: string, options: TableLocation & Models): Promise<number>
  deleteSnapshot(name: string, options: TableLocation): Promise<void>
}
