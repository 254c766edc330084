import t from 'tap'
import { clusteredIn, clusters, indexedTable } from '../../fixtures/synthetic-table.ts'
import { connectLance, prewarm } from '../../../index/table/lance.ts'
import { searchWords } from '../../../index/search/search.ts'
import { tempDir } from '../helpers.ts'

await t.test('a table whose indexes are larger than the caches is opened and searched', async (t) => {
  const dir = await tempDir(t)
  await indexedTable(dir, clusters, 1200, clusteredIn(1200))
  const connection = await connectLance(dir, 0, { index: 50_000, metadata: 50_000 })
  t.teardown(() => connection.close())
  const table = await connection.openTable('passages.bench')
  await t.rejects(table.prewarmIndex('text_idx'), /cache/)
  await prewarm(table)
  t.equal((await searchWords(table, '#77', { k: 1 }))[0]?.id, '77')
})
