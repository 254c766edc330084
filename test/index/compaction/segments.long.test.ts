import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { uniform } from '../../fixtures/synthetic-checkpoint.ts'
import { indexedTable } from '../../fixtures/synthetic-table.ts'
import { openIndex } from '../../../index/open.ts'
import { tableFolder } from '../../../index/versions/alias.ts'
import { compactionCommand, compactTable, fragmentation, MOST_SEGMENTS, vectorSegments } from '../../../index/compaction/compact.ts'
import { connectLance, type Table } from '../../../index/table/lance.ts'
import { TableSync } from '../../../index/table/table-sync.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

const ROWS = 9000
const STORED_AS = 'passages.bench'

const next = uniform(11)
function anyVector(): Float32Array {
  return Float32Array.from({ length: hashEmbedding.dimension }, () => 2 * next() - 1)
}

/** A live table with a vector index, in three files. */
async function indexed(t: Test) {
  const dir = await tempDir(t)
  await indexedTable(dir, hashEmbedding, ROWS, anyVector)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  return { dir, table: await connection.openTable(STORED_AS) }
}

/** Codes of the vector index that searches compare, on average, where they read one partition. */
async function comparisons(table: Table): Promise<number> {
  let sum = 0
  for (let query = 0; query < 20; query++) {
    const plan = await table
      .query()
      .nearestTo(anyVector())
      .column('vector')
      .distanceType('dot')
      .limit(10)
      .nprobes(1)
      .select(['id', '_distance'])
      .analyzePlan()
    const [, count = 'none', unit = ''] = /ANNSubIndex.*index_comparisons=([\d.]+)( K)?/.exec(plan) ?? []
    sum += Number(count) * (unit === '' ? 1 : 1000)
  }
  return sum / 20
}

await t.test('a search reads as much of the vector index after compaction as before', async (t) => {
  const { dir, table } = await indexed(t)
  const before = await comparisons(table)
  t.ok(before > 0 && before < ROWS, `${before} of ${ROWS} rows are compared in one partition`)
  const { after } = await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  t.match(after, { fragments: 1, surplus: 0 })
  await table.checkoutLatest()
  const compacted = await comparisons(table)
  t.ok(compacted < 1.3 * before, `${compacted} rows after compaction, ${before} before`)
})

await t.test('many foldings leave few parts of the vector index and few files, and compaction by hand leaves one', async (t) => {
  const { dir, table } = await indexed(t)
  const sync = await TableSync.start(tableFolder(dir, STORED_AS))
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, compactAfter: 1000 })
  t.teardown(() => index.close())
  for (let round = 0; round < 6; round++) {
    const passages = somePassages(3, 100_000 + 3 * round)
    await index.upsert(passages, await embed(passages.map(({ text }) => text)))
    await table.checkoutLatest()
    await compactTable(table, sync, 0, 3)
    const segments = await vectorSegments(table)
    t.ok(segments <= 3, `${segments} parts after ${round + 1} foldings`)
    t.equal((await fragmentation(table)).surplus, 0, 'what parts keep apart is nothing to compact')
  }
  await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  await table.checkoutLatest()
  t.same([await vectorSegments(table), (await fragmentation(table)).fragments], [1, 1])
  t.equal(await index.count(), ROWS + 18)
  t.equal((await index.get('p100017'))?.title, 'Place 100017')
})

await t.test('a running index keeps the parts few by itself, whichever process wrote', async (t) => {
  const { dir, table } = await indexed(t)
  const seen: number[] = []
  for (let round = 0; round < MOST_SEGMENTS + 2; round++) {
    const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, compactAfter: 1, keepMs: 0 })
    const passages = somePassages(2, 200_000 + 2 * round)
    const upsert = async (title: string): Promise<void> => {
      await index.upsert(
        passages.map((passage) => ({ ...passage, title })),
        await embed(passages.map(({ text }) => text)),
      )
    }
    await upsert('first')
    const isTidy = async (): Promise<boolean> =>
      (await fragmentation(table)).surplus === 0 && (await vectorSegments(table)) <= MOST_SEGMENTS
    for (let i = 1; i < 600 && !(await isTidy()); i++) {
      await sleep(50)
      // What the index before this one still commits may make a compaction fail: the next write tries again.
      if (i % 100 === 0) await upsert(`at ${i}`)
    }
    seen.push(await vectorSegments(table))
    t.equal(await index.count(), ROWS + 2 * (round + 1))
    index.close()
  }
  t.ok(Math.max(...seen) <= MOST_SEGMENTS && (seen.at(-1) ?? Infinity) < MOST_SEGMENTS, `parts after each upsert: ${seen.join(', ')}`)
})

await t.test('what an export reads stays until it ends, however long it takes', async (t) => {
  const { dir } = await indexed(t)
  const index = await openIndex({ dir, model: hashEmbedding })
  t.teardown(() => index.close())
  const data = join(tableFolder(dir, STORED_AS), 'data')
  const before = await readdir(data)
  const reading = index.export()
  const first = await reading.next()
  t.notOk(first.done)
  await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  const meanwhile = await readdir(data)
  t.ok(
    before.every((file) => meanwhile.includes(file)),
    'replaced files are still there',
  )
  let read = 1
  for await (const { id } of reading) if (id !== '') read++
  t.equal(read, ROWS)
  await compactionCommand({ dir, table: 'passages', task: 'cleanup', keepMs: 0, dryRun: false })
  t.notOk(
    (await readdir(data)).some((file) => before.includes(file)),
    'and go afterwards',
  )
})
