import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { syntheticItems, syntheticPassage } from '../../fixtures/synthetic-corpus.ts'
import { indexedTable } from '../../fixtures/synthetic-table.ts'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import { contentHash } from '../../../index/hash.ts'
import { tableFolder } from '../../../index/versions/alias.ts'
import { connectLance, type Table } from '../../../index/table/lance.ts'
import { compactionCommand } from '../../../index/compaction/compact.ts'
import { packVectors } from '../../../index/table/rows.ts'
import { mergeRows } from '../../../index/table/write.ts'
import { embedText, hashEmbedding, tempDir } from '../helpers.ts'
import { run } from '../ingest/job-helpers.ts'
import { indexProcess } from '../table/index-process.ts'

const ROWS = 12_000
const ADDED = 3000
const STORED_AS = 'passages.bench'

/** A process that changes passages of the table all the time. @returns what ends it, and gives what it says. */
async function changing(t: Test, dir: string): Promise<() => Promise<{ puts: number; longest: number; warnings: string[] }>> {
  const child = await indexProcess(t, 'changing', dir, String(ROWS))
  return async () => JSON.parse((await child.end()).split('\n').at(-2) ?? '') as { puts: number; longest: number; warnings: string[] }
}

/** Parts of all indexes. */
async function parts(table: Table): Promise<number> {
  let sum = 0
  for (const { name } of await table.listIndices()) sum += (await table.indexStats(name))?.numIndices ?? 0
  return sum
}

await t.test(
  'a job folds while another process changes the table all the time, and leaves no lost files',
  { timeout: 180_000 },
  async (t) => {
    const dir = await tempDir(t)
    await indexedTable(dir, hashEmbedding, ROWS, (number) => embedText(syntheticPassage(number).text))
    const folder = join(dir, 'jobs', 'j1')
    await mkdir(folder, { recursive: true })
    await planCorpus(syntheticItems(ADDED, ROWS), { folder, shardRows: 500, maxRejectedShare: 0 })
    const end = await changing(t, dir)
    const { rows } = await run(dir, 'j1', { policy: { exactBelow: 1000, minRecall: 0.1, sample: 8 } })
    t.equal(rows, ROWS + ADDED)
    const connection = await connectLance(dir, 0)
    t.teardown(() => connection.close())
    const table = await connection.openTable(STORED_AS)
    const left = Math.max(...(await table.listIndices()).map(({ numUnindexedRows }) => numUnindexedRows ?? Infinity))
    const { puts, longest, warnings } = await end()
    t.comment(`${puts} changes meanwhile, the longest took ${longest.toFixed(0)} ms`)
    t.ok(puts > 0)
    t.same(warnings, [])
    t.ok(left < ADDED / 2, `${left} rows are in no index after the job`)

    await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
    await table.checkoutLatest()
    t.equal((await readdir(join(tableFolder(dir, STORED_AS), 'data'))).length, (await table.stats()).fragmentStats.numFragments)
    t.equal((await readdir(join(tableFolder(dir, STORED_AS), '_indices'))).length, await parts(table))
    t.equal(await table.countRows(), ROWS + ADDED)
  },
)

await t.test('a job ends, and says so, where software without turns changes the table all the time', { timeout: 120_000 }, async (t) => {
  const dir = await tempDir(t)
  await indexedTable(dir, hashEmbedding, ROWS, (number) => embedText(syntheticPassage(number).text))
  const folder = join(dir, 'jobs', 'j1')
  await mkdir(folder, { recursive: true })
  await planCorpus(syntheticItems(ADDED, ROWS), { folder, shardRows: ADDED, maxRejectedShare: 0 })
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await connection.openTable(STORED_AS)
  let ended = false
  const change = async (): Promise<void> => {
    for (let round = 0; !ended; round++) {
      const passage = { ...syntheticPassage((round * 7919) % ROWS), title: `Round ${round}` }
      const halves = packVectors([passage], [embedText(passage.text)], hashEmbedding.dimension)
      await mergeRows(table, { passages: [passage], hashes: [contentHash(passage)], halves }, hashEmbedding.dimension)
    }
  }
  const changing = change()
  const warnings: string[] = []
  const { rows } = await run(dir, 'j1', { onWarning: (message) => warnings.push(message) }).finally(() => (ended = true))
  await changing
  t.equal(rows, ROWS + ADDED)
  t.match(warnings.join(), /^$|^Compaction failed: Other writers committed/)
  t.comment(warnings.join())
})
