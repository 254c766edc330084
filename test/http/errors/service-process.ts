import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { IndexCollections } from '../../../index/collections/collections.ts'
import { openIndex } from '../../../index/open.ts'
import { buildApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { createAdmission } from '../../../src/inference/pool/admission.ts'
import { createJobs } from '../../../src/jobs/jobs.ts'
import { openKeys } from '../../../src/keys/keys.ts'
import { readinessOf } from '../../../src/service/health.ts'
import { createDocumentParser } from '../../../src/documents/parser.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { embedderOf } from '../../jobs/helpers.ts'
import { hashEmbedding } from '../../index/helpers.ts'

/** A service over a real index and jobs. Prints its address; `take` and `give` on its input take and release all its file descriptors. */
const [dir = ''] = process.argv.slice(2)
const index = await openIndex({ dir: join(dir, 'index'), model: hashEmbedding, consistencyMs: 0, onWarning: () => undefined })
const collections = new IndexCollections({ main: index, onWarning: () => undefined })
const embedder = embedderOf()
const jobsDir = join(dir, 'index', 'jobs')
const jobs = createJobs({ index, indexOf: (table) => collections.later(table), embedder, jobsDir, importDir: join(dir, 'import') })
const { services: answering } = recordingServices()
const documents = {
  services: {
    reader: { manifest: answering.reader.manifest, document: () => Promise.reject(new Error('This reader reads no documents.')) },
    admission: createAdmission({ maxWaiting: 1, concurrency: 1, disruptions: () => 0 }),
    documentTokens: 1000,
    chatTemplate: 'none' as const,
  },
  parser: createDocumentParser({ parseMs: 10_000 }),
}
const services = {
  answering: { ...answering, retriever: { ...answering.retriever, embedder, index, collection: (name: string) => collections.open(name) } },
  documents,
  embedder,
  newerTable: () => index.behind(),
  countTokens: (text: string) => text.length,
  unreadTokens: () => 0,
  index,
  collections,
  jobs,
  keys: await openKeys({ dir: join(dir, 'keys') }),
  readiness: () => readinessOf({ index }),
  processes: () => [],
  close: () => Promise.resolve(),
}
const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ADMIN_KEY: 'a-key-for-tests-only' }, {}), '0.0.0-test')
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)

const taken: number[] = []
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'take') {
    try {
      for (;;) taken.push(openSync('/dev/null', 'r'))
    } catch {
      // A connection of the client takes one.
      for (const file of taken.splice(-2)) closeSync(file)
    }
  } else for (const file of taken.splice(0)) closeSync(file)
  process.stdout.write('done\n')
}
