import { type Static, Type } from 'typebox'
import { join } from 'node:path'

/** Files of a job in its folder. */
export function jobFiles(folder: string) {
  return {
    plan: join(folder, 'plan.json'),
    /** Reserved space, released when the disk is full, so that the job's end can still be recorded. */
    reserve: join(folder, 'reserve'),
    journal: join(folder, 'journal.jsonl'),
    rejects: join(folder, 'rejects.jsonl'),
    /** Files of a multi-file upload. */
    uploads: join(folder, 'uploads'),
    /** Files found in a folder. */
    listed: join(folder, 'listed.json'),
    /** What servers said of the pages of the web that were fetched. */
    fetched: join(folder, 'fetched.json'),
    shards: join(folder, 'shards'),
    /** Of a shard folder, which is laid out like a job's: its record and the vectors of its shards. */
    place: join(folder, 'place.json'),
    vectors: join(folder, 'vectors'),
    shard: (number: number): string => join(folder, 'shards', `${String(number).padStart(6, '0')}.jsonl`),
  }
}

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
export const CountersSchema = Type.Object({
  read: Type.Integer({ description: 'Lines read, rejected ones included, without header and blank lines; files for documents.' }),
  rejected: Type.Integer({ description: 'Rejected lines or skipped files; reasons are in the report.' }),
  accepted: Type.Integer({ description: 'Passages to index; 0 until planning ends.' }),
  embedded: Type.Integer({ description: 'Passages embedded by or for this job.' }),
  skipped: Type.Integer({ description: 'Unchanged passages, not embedded again.' }),
  committed: Type.Integer({ description: 'Passages durably stored, skipped ones included.' }),
})
export type Counters = Static<typeof CountersSchema>

export type Phase = 'planning' | 'indexing' | 'verifying'
