import { join } from 'node:path'

/** Files of a job in its folder. */
export function jobFiles(folder: string) {
  return {
    plan: join(folder, 'plan.json'),
    /** Given up when the disk is full, so that the job's end can still be written. */
    reserve: join(folder, 'reserve'),
    journal: join(folder, 'journal.jsonl'),
    rejects: join(folder, 'rejects.jsonl'),
    /** Files of an upload of several. */
    uploads: join(folder, 'uploads'),
    /** Which files a folder had. */
    listed: join(folder, 'listed.json'),
    shards: join(folder, 'shards'),
    shard: (number: number): string => join(folder, 'shards', `${String(number).padStart(6, '0')}.jsonl`),
  }
}
