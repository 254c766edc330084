import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { planCorpus } from '../../index/job/plan.ts'
import { runJob, type JobResult, type RunJobOptions } from '../../index/job/run.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import type { ReadItem } from '../../index/read/types.ts'
import type { Passage } from '../../index/types.ts'
import { embed, hashEmbedding } from './helpers.ts'

export async function* asItems(passages: readonly Passage[]): AsyncGenerator<ReadItem> {
  for (const [i, passage] of passages.entries()) {
    await Promise.resolve()
    yield { line: i + 1, passage }
  }
}

export const planned = async (dir: string, jobId: string, passages: readonly Passage[], shardRows = 50): Promise<string> => {
  const folder = join(dir, 'jobs', jobId)
  await mkdir(folder, { recursive: true })
  await planCorpus(asItems(passages), { folder, shardRows, maxRejectedShare: 0 })
  return folder
}

export const run = (dir: string, jobId: string, options: Partial<RunJobOptions> = {}): Promise<JobResult> =>
  runJob({ dir, table: 'passages', model: hashEmbedding, embed, jobId, folder: join(dir, 'jobs', jobId), replace: false, signal: new AbortController().signal, ...options })

export const opened = async (t: Test, dir: string): Promise<PassageIndex> => {
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

export const journalOf = async (folder: string): Promise<Record<string, unknown>[]> =>
  (await readFile(join(folder, 'journal.jsonl'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
