import { join } from 'node:path'
import type { Test } from 'tap'
import { hashedWordsManifest } from '../fixtures/hashed-words.ts'
import type { PassageIndex } from '../../index/open.ts'
import type { Embed, Passage } from '../../index/contract.ts'
import type { Embedder } from '../../src/inference/contract.ts'
import type { JobParts } from '../../src/jobs/run/live-job.ts'
import { createJobs, type Jobs } from '../../src/jobs/jobs.ts'
import { embed } from '../index/helpers.ts'
import { opened } from '../index/ingest/job-helpers.ts'

/** The hashed-words embedding as the service sees an embedder. */
export function embedderOf(embedTexts: Embed = embed): Embedder {
  return { manifest: hashedWordsManifest, embed: (texts, { signal }) => embedTexts(texts, signal) }
}

export async function withJobs(
  t: Test,
  dir: string,
  options: Partial<JobParts> & { embed?: Embed } = {},
): Promise<{ index: PassageIndex; jobs: Jobs }> {
  const index = await opened(t, join(dir, 'index'))
  const jobs = createJobs({ index, embedder: embedderOf(options.embed), jobsDir: join(dir, 'index', 'jobs'), ...options })
  t.teardown(() => jobs.close())
  return { index, jobs }
}

/** How many of the texts are passages of `somePassages`, as they are embedded for the index, and not questions about them. */
export function passagesAmong(texts: readonly string[]): number {
  return texts.filter((text) => text.startsWith('Place ')).length
}

export function toTsv(passages: readonly Passage[]): string {
  return ['id\ttext\ttitle', ...passages.map((p) => `${p.id}\t${p.text}\t${p.title}`), ''].join('\n')
}

export async function* streamed(content: string | Buffer, size = 1000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve()
    yield bytes.subarray(at, at + size)
  }
}

export async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}
