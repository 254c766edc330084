import path from 'node:path'
import t, { type Test } from 'tap'
import type { EmbeddingModel, Passage } from '../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import { modelId } from '../../models/manifest.ts'
import { hashedWordsManifest } from '../fixtures/hashed-words.ts'
import { createJobs } from '../../src/jobs/jobs.ts'
import { embed, embedText, somePassages, tempDir } from '../index/helpers.ts'
import { embedderOf, passagesAmong } from './helpers.ts'

const EARLIER: EmbeddingModel = { id: 'earlier-words', dimension: 24 }
const NOW: EmbeddingModel = { id: modelId(hashedWordsManifest), dimension: 32 }
const ROWS = 300

async function contents(index: PassageIndex): Promise<Passage[]> {
  const found: Passage[] = []
  for await (const passage of index.export()) found.push(passage)
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function opened(t: Test, dir: string): Promise<PassageIndex> {
  const index = await openIndex({ dir, model: NOW, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

await t.test(
  'a table is embedded anew; stopped, the job goes on where it stood, and what was deleted meanwhile stays deleted',
  async (t) => {
    const dir = await tempDir(t)
    const before = await openIndex({ dir, model: EARLIER, consistencyMs: 0 })
    const passages = somePassages(ROWS).map((passage, i) => (i % 3 === 0 ? { ...passage, metadata: { year: 1900 + i } } : passage))
    await before.upsert(
      passages,
      passages.map(({ text }) => embedText(text).slice(0, 24)),
    )
    const all = await contents(before)
    before.close()

    const index = await opened(t, dir)
    t.same(await contents(index), all)
    let embedded = 0
    const cut = new AbortController()
    const jobsOf = (of: PassageIndex, most: number) =>
      createJobs({
        index: of,
        shardRows: 50,
        jobsDir: path.join(dir, 'jobs'),
        embedder: embedderOf((texts, signal) => {
          if (embedded + texts.length > most) {
            cut.abort()
            return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('ended'))))
          }
          embedded += passagesAmong(texts)
          return embed(texts)
        }),
      })
    const first = jobsOf(index, 150)
    const { id } = await first.addReembed()
    await t.rejects(first.wait(id, undefined, cut.signal))
    t.equal(await index.delete(['p7', 'p299']), 2)
    t.equal(await index.count(), ROWS - 2, 'the table of before is still the one that is read')
    await first.close()

    const half = embedded
    t.ok(half >= 100 && half < ROWS, `${half} embedded`)
    const second = jobsOf(index, Infinity)
    t.teardown(() => second.close())
    const again = await second.addReembed()
    t.equal(again.id, id)
    t.match(await second.wait(id), { state: 'done', version: 1, result: { rows: ROWS - 2 } })
    t.ok(embedded <= ROWS + 50, `${embedded} embedded in all`)
    t.same(
      await contents(index),
      all.filter((passage) => passage.id !== 'p7' && passage.id !== 'p299'),
    )
    const [hit] = await index.view().then((view) => view.search(embedText('Place 40 The amber'), { k: 1 }))
    t.ok(hit)
    await t.rejects(second.addReembed(), { code: 'conflict', message: /already/ })
  },
)
