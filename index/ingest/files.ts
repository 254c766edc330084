import { join } from 'node:path'

/** Files of a job in its folder. */
export function jobFiles(folder: string) {
  return {
    plan: join(folder, 'plan.json'),
    journal: join(folder, 'journal.jsonl'),
    rejects: join(folder, 'rejects.jsonl'),
    shards: join(folder, 'shards'),
    shard: (number: number): string => join(folder, 'shards', `${String(number).padStart(6, '0')}.jsonl`),
  }
}
