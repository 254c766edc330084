import t from 'tap'
import { buildIndexes, measureRecall } from '../../index/ann.ts'
import { connectLance, type Table } from '../../index/lance.ts'
import { readMetadata } from '../../index/metadata.ts'
import { createTable } from '../../index/migrate.ts'
import { openIndex } from '../../index/open.ts'
import { writeAlias } from '../../index/alias.ts'
import { contentHash } from '../../index/hash.ts'
import { packVectors } from '../../index/rows.ts'
import { searchVector } from '../../index/search.ts'
import { appendRows } from '../../index/write.ts'
import type { Passage } from '../../index/types.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from './helpers.ts'

const append = async (table: Table, passages: readonly Passage[]): Promise<void> => {
  const halves = packVectors(passages, await embed(passages.map((p) => p.text)), hashEmbedding.dimension)
  await appendRows(table, { passages, hashes: passages.map(contentHash), halves }, hashEmbedding.dimension)
}

const policy = { exactBelow: 1000, minRecall: 0.95, sample: 16 }

await t.test('small tables stay exact; large ones get an index whose settings reach the recall', async (t) => {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, 'passages.a', hashEmbedding)
  await append(table, somePassages(900))
  t.equal(await buildIndexes(table, policy), undefined)
  t.equal((await readMetadata(table)).ann, undefined)

  await append(table, somePassages(2100, 900))
  const ann = await buildIndexes(table, policy)
  t.match(ann, { partitions: 55, refine: 10, rows: 3000 })
  if (ann === undefined) return
  t.ok(ann.recall >= 0.95 && ann.nprobes >= 8 && ann.nprobes <= 55, `recall ${ann.recall} at nprobes ${ann.nprobes}`)
  t.same((await readMetadata(table)).ann, ann)
  t.ok((await measureRecall(table, { ...ann, nprobes: 1, refine: 1 }, 16)) < 1, 'one partition without refinement is not enough: the measure can fail')
  t.same(await buildIndexes(table, policy), ann, 'nothing to do the second time')

  await append(table, [{ id: 'tail', title: '', text: 'zebra quokka axolotl' }])
  const [best] = await searchVector(table, ann, embedText('zebra quokka axolotl'), { k: 1 })
  t.equal(best?.id, 'tail', 'rows that the index does not cover are found')
  const exact = await searchVector(table, undefined, embedText('lagoon'), { k: 5 })
  const approximate = await searchVector(table, { ...ann, nprobes: ann.partitions }, embedText('lagoon'), { k: 5 })
  for (const [i, hit] of exact.entries()) t.ok(Math.abs(hit.score - (approximate[i]?.score ?? 0)) < 1e-3, 'refined scores are dot products')

  await writeAlias(dir, 'passages', { stored_as: 'passages.a', replaced_by_job: null })
  const index = await openIndex({ dir, model: hashEmbedding })
  t.teardown(() => index.close())
  t.match(await index.info(), { kind: 'ivf_rq', nprobes: ann.nprobes, refine: 10, rows: 3001, unindexedRows: 1 })
  const filtered = await index.search(embedText('lagoon'), { k: 20, filter: { title: Array.from({ length: 20 }, (_, i) => `Place ${i * 50}`) } })
  t.equal(filtered.length, 20, 'a narrow filter reads as many partitions as it takes')
})

await t.test('an index that cannot reach the recall is refused', async (t) => {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, 'passages.a', hashEmbedding)
  await append(table, somePassages(1200))
  await t.rejects(buildIndexes(table, { ...policy, minRecall: 1.01 }), { code: 'index_invalid', message: /recall@10/ })
  t.equal((await readMetadata(table)).ann, undefined)
})
