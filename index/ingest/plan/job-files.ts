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
    shard: (number: number): string => join(folder, 'shards', `${String(number).padStart(6, '0')}.jsonl`),
  }
}
