import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openIndex } from '../../../index/open.ts'
import type { Embedder } from '../../../src/inference/contract.ts'
import { createJobs } from '../../../src/jobs/jobs.ts'
import { hashedWordsManifest } from '../../../test/fixtures/hashed-words.ts'
import { noiseVector, syntheticPassage } from '../../../test/fixtures/synthetic-corpus.ts'
import { clusters } from '../../../test/fixtures/synthetic-table.ts'
import { Pauses } from './pauses.ts'

/** Passages per document after splitting. */
const PARTS = 50
const WORDS = 101
/** The vectors are noise: their recall is not measured. */
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

/** Longest event-loop pauses of a process that runs a job like the service, with documents split into passages and instant embedding. */
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
  const pauses = new Pauses()
  const phases: { readonly max: number; readonly own: number; readonly said: string }[] = []
  let [phase, from] = ['planning', performance.now()]
  const turn = (name: string): void => {
    if (phase === name) return
    const { max, own, p99, collection } = pauses.take()
    const times = `${own.toFixed(0)} on a core, p99 ${p99.toFixed(0)}, collections up to ${collection.toFixed(0)}`
    phases.push({ max, own, said: `${phase} ${max.toFixed(0)} ms (${times}; ${((performance.now() - from) / 1000).toFixed(0)} s)` })
    phase = name
    from = performance.now()
  }
  const { id } = await jobs.addFile(corpus, { split_words: WORDS, replace: true })
  const { state, counters, error } = await jobs.wait(id, (job) => turn(job.state === 'queued' ? 'planning' : job.state))
  turn('end')
  pauses.close()
  await jobs.close()
  index.close()
  if (state !== 'done') throw new Error(error?.message ?? state)
  const [longest, own] = [Math.max(...phases.map(({ max }) => max)), Math.max(...phases.map((one) => one.own))]
  return [
    `longest pause of the process that runs a job of ${counters.accepted.toLocaleString('en')} passages, cut from documents; of that without waiting for a core`,
    `${longest.toFixed(0)} ms; ${own.toFixed(0)} ms: ${phases.map(({ said }) => said).join(', ')}`,
  ]
}
