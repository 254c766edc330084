/**
 * A process that takes up the jobs of an index, adds one if its corpus is not among them, and ends when they have ended:
 * what the crash tests kill. Arguments: folder, corpus, milliseconds per embedding call, job options as JSON, milliseconds
 * after which the corpus's job is cancelled (never, if absent).
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../base/errors.ts'
import { openIndex } from '../../../index/open.ts'
import type { Embedder } from '../../../src/inference/contract.ts'
import { createJobs } from '../../../src/jobs/jobs.ts'
import type { JobOptions } from '../../../src/jobs/record/schema.ts'
import { embedWords, hashedWords, hashedWordsManifest } from '../../fixtures/hashed-words.ts'

const [dir = '', corpus = '', delay = '0', options = '{}', cancelAfter] = process.argv.slice(2)

const embedder: Embedder = {
  manifest: hashedWordsManifest,
  embed: async (texts) => {
    await sleep(Number(delay))
    return texts.map(embedWords)
  },
}

const index = await openIndex({ dir: join(dir, 'index'), model: hashedWords })
const jobs = createJobs({ index, embedder, jobsDir: join(dir, 'index', 'jobs'), shardRows: 100 })
await jobs.start()
const { id: own } =
  (await jobs.list()).find((job) => job.source.path === corpus) ?? (await jobs.addFile(corpus, JSON.parse(options) as JobOptions))
process.stdout.write('started\n')
if (cancelAfter !== undefined) {
  await sleep(Number(cancelAfter))
  await jobs.cancel(own).catch((error: unknown) => process.stdout.write(`${messageOf(error)}\n`))
}
for (const { id } of await jobs.list()) {
  const { state, error } = await jobs.wait(id)
  process.stdout.write(`${id} ${state} ${error?.message ?? ''}\n`)
}
await jobs.close()
index.close()
