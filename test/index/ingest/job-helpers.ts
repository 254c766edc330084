import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import type { JobResult, RunJobOptions } from '../../../index/ingest/job-run.ts'
import { runJob } from '../../../index/ingest/run.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import type { Passage } from '../../../index/contract.ts'
import { embed, hashEmbedding } from '../helpers.ts'

async function* asItems(passages: readonly Passage[]): AsyncGenerator<ReadItem> {
  for (const [i, passage] of passages.entries()) {
    await Promise.resolve()
    yield { line: i + 1, passage }
  }
}

export async function planned(dir: string, jobId: string, passages: readonly Passage[], shardRows = 50): Promise<string> {
  const folder = join(dir, 'jobs', jobId)
  await mkdir(folder, { recursive: true })
  await planCorpus(asItems(passages), { folder, shardRows, maxRejectedShare: 0 })
  return folder
}

export function run(dir: string, jobId: string, options: Partial<RunJobOptions> = {}): Promise<JobResult> {
  return runJob({
    dir,
    table: 'passages',
    model: hashEmbedding,
    embed,
    jobId,
    folder: join(dir, 'jobs', jobId),
    replace: false,
    signal: new AbortController().signal,
    onWarning: () => undefined,
    ...options,
  })
}

export async function opened(t: Test, dir: string): Promise<PassageIndex> {
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

export async function journalOf(folder: string): Promise<Record<string, unknown>[]> {
  return (await readFile(join(folder, 'journal.jsonl'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
