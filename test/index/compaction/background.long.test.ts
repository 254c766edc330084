import t from 'tap'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openIndex } from '../../../index/open.ts'
import { tableFolder } from '../../../index/versions/alias.ts'
import { bytesUnder } from '../../../index/store/store-of.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { compactionCommand, fragmentation } from '../../../index/compaction/compact.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'

async function fragmentsOf(dir: string, storedAs: string): Promise<number> {
  const connection = await connectLance(dir, 0)
  try {
    return (await fragmentation(await connection.openTable(storedAs))).fragments
  } finally {
    connection.close()
  }
}

/** A file that compaction puts together with those of a job. */
async function putOne(dir: string): Promise<void> {
  const index = await openIndex({ dir, model: hashEmbedding })
  const passages = somePassages(1, 1500)
  await index.upsert(passages, await embed(passages.map(({ text }) => text)))
  index.close()
}

await t.test('a job of many shards leaves few fragments and manifests', async (t) => {
  const dir = await tempDir(t)
  const corpus = somePassages(3000)
  await planned(dir, 'j1', corpus, 20)
  const { storedAs, rows } = await run(dir, 'j1')
  t.equal(rows, 3000)
  const fragments = await fragmentsOf(dir, storedAs)
  t.equal(fragments, 1, 'of 150 shards')
  const manifests = await readdir(join(tableFolder(dir, storedAs), '_versions'))
  t.ok(manifests.length < 80, `${manifests.length} manifests`)
  await planned(dir, 'j2', somePassages(1500, 3000), 20)
  await run(dir, 'j2')
  const after = await fragmentsOf(dir, storedAs)
  t.ok(after < 130, `${after} fragments after 75 more shards`)
})

await t.test('small writes over restarts are put together, whichever process wrote them', async (t) => {
  const dir = await tempDir(t)
  let most = 0
  for (let round = 0; round < 6; round++) {
    const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, compactAfter: 20 })
    for (let i = 0; i < 10; i++) {
      const [passage] = somePassages(1, round * 10 + i)
      if (passage !== undefined) await index.upsert([passage], await embed([passage.text]))
    }
    const { storedAs } = await index.info()
    await sleep(300)
    most = Math.max(most, await fragmentsOf(dir, storedAs))
    t.equal(await index.count(), (round + 1) * 10)
    index.close()
  }
  t.ok(most < 45, `${most} fragments at most after 60 upserts by six processes`)
})

await t.test('compacting by hand: a dry run changes nothing, the real one keeps every passage', async (t) => {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, compactAfter: 1000 })
  t.teardown(() => index.close())
  // More rows than upserts take along from small files.
  for (let i = 0; i < 30; i++) {
    const passages = somePassages(10, 10 * i)
    await index.upsert(passages, await embed(passages.map(({ text }) => text)))
  }
  const { version } = await index.info()
  const task = { dir, table: 'passages', keepMs: 0 }
  const dry = await compactionCommand({ ...task, task: 'compact', dryRun: true })
  t.match(dry, { before: { fragments: 30, surplus: 29 }, after: undefined })
  t.ok(dry.before.oldVersions >= 29 && dry.before.diskBytes > dry.before.bytes)
  t.equal((await index.info()).version, version)
  t.match(await compactionCommand({ ...task, keepMs: 3_600_000, task: 'cleanup', dryRun: true }), { before: { oldVersions: 0 } })
  const { before, after } = await compactionCommand({ ...task, task: 'compact', dryRun: false })
  t.match(after, { fragments: 1, surplus: 0, oldVersions: 0 })
  t.ok((after?.diskBytes ?? Infinity) < before.diskBytes)
  t.equal(await index.count(), 300)
  t.equal((await index.get('p7'))?.title, 'Place 7')
  await t.rejects(compactionCommand({ ...task, table: 'none', task: 'cleanup', dryRun: false }), { code: 'index_missing' })
})

await t.test('a version that was written long ago and replaced just now can still be read', async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', somePassages(1500), 300)
  const { storedAs } = await run(dir, 'j1', { policy: { exactBelow: 1000, minRecall: 0.5, sample: 8 } })
  await putOne(dir)
  const reader = await openIndex({ dir, model: hashEmbedding, consistencyMs: 600_000 })
  t.teardown(() => reader.close())
  const search = async (text: string) => {
    const [vector] = await embed([text])
    return vector === undefined ? [] : await reader.view().then((view) => view.search(vector, { k: 5 }))
  }
  t.equal((await search('the amber basin')).length, 5)
  await sleep(1200)
  const { before, after } = await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 1000, dryRun: false })
  t.ok(before.fragments > 1 && after?.fragments === 1, `${before.fragments} fragments were put together`)
  for (const text of ['the cedar delta', 'the ember fjord', 'a grove']) t.equal((await search(text)).length, 5, text)
  t.equal((await reader.list({ limit: 1000 })).length, 1000)

  await sleep(1200)
  const cleaned = await compactionCommand({ dir, table: 'passages', task: 'cleanup', keepMs: 1000, dryRun: false })
  t.ok((cleaned.after?.diskBytes ?? Infinity) < cleaned.before.diskBytes, 'and goes when its time is over')
  t.equal(cleaned.after?.oldVersions, 0)
  const connection = await connectLance(dir, 0)
  t.equal(await (await connection.openTable(storedAs)).countRows(), 1501)
  connection.close()
})

await t.test('files past their time go though nobody writes any more, whoever replaced them', async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', somePassages(1500), 300)
  const { storedAs } = await run(dir, 'j1')
  await putOne(dir)
  const folder = tableFolder(dir, storedAs)
  await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 600_000, dryRun: false })
  const twice = await bytesUnder(folder)
  const index = await openIndex({ dir, model: hashEmbedding, keepMs: 1000 })
  t.teardown(() => index.close())
  for (let i = 0; i < 60 && (await bytesUnder(folder)) > 0.75 * twice; i++) await sleep(250)
  t.ok((await bytesUnder(folder)) <= 0.75 * twice, `${await bytesUnder(folder)} of ${twice} bytes are left`)
  t.equal(await index.count(), 1501)
})
