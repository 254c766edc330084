import { Type, type Static } from '#typebox'

/** Rows of one shard: one commit. Large enough for LanceDB's full write rate, small enough not to block the event loop. */
export const SHARD_ROWS = 4096

/** Result of planning, written last: its presence means that every shard file is complete and durable. */
export const PlanSchema = Type.Object({
  /** Passages in each shard, in order. */
  shard_rows: Type.Array(Type.Integer({ minimum: 1 })),
  /** As `digest`, of each shard. */
  shard_digests: Type.Array(Type.String()),
  /** Lines read, rejected ones included. */
  read: Type.Integer(),
  rejected: Type.Integer(),
  accepted: Type.Integer(),
  /** Sum modulo 2^64 of the fingerprints of all ids and contents, in hexadecimal: identifies the set of rows. */
  digest: Type.String(),
})
export type Plan = Static<typeof PlanSchema>

/** Progress of a job, for progress bars and the admin route. */
export interface Counters {
  /** Lines read, rejected ones included. */
  read: number
  rejected: number
  /** Passages in the plan; 0 while planning. */
  accepted: number
  /** Passages embedded by this job. */
  embedded: number
  /** Unchanged passages of the table, not embedded again. */
  skipped: number
  /** Passages in durable shards, unchanged ones included. */
  committed: number
}

export type Phase = 'planning' | 'indexing' | 'verifying'
