import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { openIndex } from '../../index/open.ts'
import type { Embedder } from '../../src/inference/contract.ts'
import { createJobs } from '../../src/jobs/jobs.ts'
import { hashedWordsManifest } from './hashed-words.ts'
import { noiseVector, syntheticPassage } from './index-corpus.ts'
import { clusters } from './index-table.ts'

/** Passages of a document, as it is cut again. */
const PARTS = 50
const WORDS = 101
/** The vectors are noise: what recall can be had of them is not what is measured. */
const POLICY = { exactBelow: 1000, minRecall: 0.05, sample: 16 }

async function writeDocuments(path: string, documents: number): Promise<void> {
  const file = createWriteStream(path)
  for (let number = 0; number < documents; number++) {
    const text = Array.from({ length: PARTS }, (_, part) => syntheticPassage(number * PARTS + part).text).join('. ')
    if (!file.write(`${JSON.stringify({ id: `d${number}`, title: `Document ${number}`, text })}\n`)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'finish')
}

/** Longest pauses of a process that runs a job as the service does, documents cut into passages; embedding takes no time. */
export async function pauseRow(dir: string, rows: number): Promise<string[]> {
  const corpus = join(dir, 'documents.jsonl')
  const index = await openIndex({ dir: join(dir, 'index'), model: clusters })
  await writeDocuments(corpus, Math.ceil(rows / PARTS))
  let embedded = 0
  const embedder: Embedder = {
    manifest: hashedWordsManifest,
    embed: (texts) => Promise.resolve(texts.map(() => noiseVector(embedded++, clusters.dimension))),
  }
  const jobs = createJobs({ index, embedder, jobsDir: join(dir, 'index', 'jobs'), policy: POLICY })
  await jobs.start()
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  const phases: { name: string; max: number; p99: number; from: number }[] = []
  const turn = (name: string): void => {
    const last = phases.at(-1)
    if (last?.name === name) return
    if (last !== undefined) Object.assign(last, { max: gaps.max / 1e6, p99: gaps.percentile(99) / 1e6 })
    gaps.reset()
    phases.push({ name, max: 0, p99: 0, from: performance.now() })
  }
  gaps.enable()
  turn('planning')
  const { id } = await jobs.addFile(corpus, { split_words: WORDS, replace: true })
  const { state, counters, error } = await jobs.wait(id, (job) => turn(job.state === 'queued' ? 'planning' : job.state))
  turn('end')
  await jobs.close()
  index.close()
  if (state !== 'done') throw new Error(error?.message ?? state)
  const ended = phases.map(({ name, max, p99, from }, i) => {
    const seconds = ((phases[i + 1]?.from ?? from) - from) / 1000
    return `${name} ${max.toFixed(0)} ms (p99 ${p99.toFixed(0)}; ${seconds.toFixed(0)} s)`
  })
  const longest = Math.max(...phases.map(({ max }) => max))
  return [
    `longest pause of the process that runs a job of ${counters.accepted.toLocaleString('en')} passages, cut from documents`,
    `${longest.toFixed(0)} ms: ${ended.slice(0, -1).join(', ')}`,
  ]
}
