import { Type, type Static } from 'typebox'

/** Rows of one shard: one commit. Large enough that LanceDB writes at full rate, small enough that building it does not hold the event loop. */
export const SHARD_ROWS = 4096

/** What planning found: written last, so that its presence means that every shard file is whole and on the disk. */
export const PlanSchema = Type.Object({
  /** Passages in each shard, in order. */
  shard_rows: Type.Array(Type.Integer({ minimum: 1 })),
  /** As `digest`, of each shard. Absent in plans of earlier versions. */
  shard_digests: Type.Optional(Type.Array(Type.String())),
  /** Lines of the source that were looked at, rejected ones included. */
  read: Type.Integer(),
  rejected: Type.Integer(),
  accepted: Type.Integer(),
  /** Sum modulo 2^64 of the fingerprints of all ids and contents, in hexadecimal: tells sets of rows apart. */
  digest: Type.String(),
})
export type Plan = Static<typeof PlanSchema>

/** A job's way through the index, for progress bars and the admin route. */
export interface Counters {
  /** Lines read, rejected ones included. */
  read: number
  rejected: number
  /** Passages that the plan holds; 0 while planning. */
  accepted: number
  /** Passages whose vectors were computed by this job. */
  embedded: number
  /** Passages that were in the table already, unchanged: not embedded again. */
  skipped: number
  /** Passages of shards that are durably in the table, unchanged ones included. */
  committed: number
}

export type Phase = 'planning' | 'indexing' | 'verifying'
