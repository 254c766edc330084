import t from 'tap'
import { syntheticPassage } from '../../fixtures/synthetic-corpus.ts'
import { indexedTable } from '../../fixtures/synthetic-table.ts'
import { contentHash } from '../../../index/hash.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { storedRows } from '../../../index/table/write.ts'
import type { Passage } from '../../../index/contract.ts'
import { embedText, hashEmbedding, tempDir } from '../helpers.ts'

const ROWS = 1500

function passageOf(number: number): Passage {
  return { ...syntheticPassage(number), text: `Number ${number} of the archipelago.`, metadata: { number, tags: [`t${number % 3}`] } }
}

function put(index: PassageIndex, ...passages: readonly Passage[]): Promise<void> {
  return index.upsert(
    passages,
    passages.map(({ text }) => embedText(text)),
  )
}

await t.test(
  'upserts of a passage leave few files without any tidying, whichever process made them, and every passage as it was',
  async (t) => {
    const dir = await tempDir(t)
    await indexedTable(dir, hashEmbedding, ROWS, (number) => embedText(syntheticPassage(number).text))
    const connection = await connectLance(dir, 0)
    t.teardown(() => connection.close())
    const table = await connection.openTable('passages.bench')
    const ids = new Set(Array.from({ length: ROWS }, (_, number) => String(number)))
    const wanted = new Map<string, Passage>()
    let most = 0
    for (let process = 0; process < 4; process++) {
      const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, compactAfter: 1_000_000 })
      for (let i = 0; i < 13; i++) {
        // New ones, ones of the corpus, and ones that were just put.
        const number = [ROWS + process * 100 + i, process * 50 + i, ROWS][i % 3] ?? 0
        const passage = { ...passageOf(number), title: `Round ${process} ${i}` }
        await put(index, passage)
        wanted.set(passage.id, passage)
        ids.add(passage.id)
        most = Math.max(most, (await table.stats()).fragmentStats.numFragments)
      }
      const [gone = ''] = wanted.keys()
      t.equal(await index.delete([gone]), 1)
      wanted.delete(gone)
      ids.delete(gone)
      index.close()
    }
    t.ok(most <= 12, `${most} files at most after 52 upserts`)

    const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
    t.teardown(() => index.close())
    const { hashes, doubled } = await storedRows(table, [...wanted.keys()])
    for (const passage of wanted.values()) {
      t.same(await index.get(passage.id), passage)
      t.equal(hashes.get(passage.id), contentHash(passage))
      const hits = await index
        .view()
        .then((view) => view.search(embedText(passage.text), { k: 30, filter: { metadata: { number: Number(passage.id) } } }))
      t.same(
        hits.map(({ id }) => id),
        [passage.id],
      )
    }
    t.same([...doubled], [])
    t.equal(await index.count(), ids.size)
  },
)
