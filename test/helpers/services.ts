import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { IndexCollections } from '../../index/collections/collections.ts'
import { openIndex } from '../../index/open.ts'
import { createJobs } from '../../src/jobs/jobs.ts'
import type { AnswerServices } from '../../src/rag/pipeline.ts'
import { createDocumentParser } from '../../src/documents/parser.ts'
import { openKeys } from '../../src/keys/keys.ts'
import type { Services } from '../../src/service/services.ts'

/** Whole services around a pipeline under test, over an empty index of their own. */
export async function servicesAround(t: Test, answering: AnswerServices, changes: Partial<Services> = {}): Promise<Services> {
  const { embedder, further } = answering.retriever
  // Not t.testdir(): a second call would empty the folder that the test itself took from it.
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-services-'))
  const index = await openIndex({ dir, model: { id: 'fake', dimension: 2 } })
  const keys = await openKeys({ dir: path.join(dir, 'keys'), pollMs: 20 })
  const collections = new IndexCollections({ main: changes.index ?? index })
  const jobs = createJobs({ index, indexOf: (table) => collections.later(table), embedder, jobsDir: path.join(dir, 'jobs') })
  t.teardown(async () => {
    keys.close()
    collections.close()
    await jobs.close()
    index.close()
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  const documents = {
    services: {
      reader: { manifest: answering.reader.manifest, document: () => Promise.reject(new Error('This reader reads no documents.')) },
      admission: answering.admission,
      documentTokens: 1000,
      chatTemplate: 'none' as const,
    },
    parser: createDocumentParser({ parseMs: 10_000 }),
  }
  return {
    answering,
    documents,
    embedder,
    ...(further && { further }),
    newerTable: () => index.behind(),
    countTokens: (text) => text.split(/\s+/).length,
    unreadTokens: (text) => Math.max(0, text.split(/\s+/).length - 256),
    index,
    collections,
    jobs,
    keys,
    readiness: () => Promise.resolve([{ name: 'reader', ok: true, detail: 'ready' }]),
    processes: () => [{ role: 'reader', queued: 0, busy: 0, ready: 1, restarts: 0 }],
    close: () => Promise.resolve(),
    ...changes,
  }
}
