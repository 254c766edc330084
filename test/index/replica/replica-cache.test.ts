import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startReplicaCache } from '../../../index/replica/replica-cache.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import type { Passage } from '../../../index/contract.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { opened, planned, run } from '../ingest/job-helpers.ts'

async function put(index: PassageIndex, passages: readonly Passage[]): Promise<void> {
  await index.upsert(passages, await embed(passages.map(({ text }) => text)))
}

async function replica(t: Test, dir: string): Promise<PassageIndex> {
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, readOnly: true })
  t.teardown(() => index.close())
  return index
}

await t.test('a copy follows commits, deletes and another table, and answers while the store is away', async (t) => {
  const dir = await tempDir(t)
  const [store, copy] = [join(dir, 'store'), join(dir, 'copy')]
  const warnings: string[] = []
  const replicaCache = await startReplicaCache({
    from: store,
    to: copy,
    table: 'passages',
    everyMs: 3_600_000,
    onWarning: (message) => warnings.push(message),
  })
  t.teardown(() => replicaCache.close())
  t.match(replicaCache.status(), { trouble: /no table "passages"/, checkedAt: undefined })
  const writer = await opened(t, store)
  const reader = await replica(t, copy)
  await t.rejects(reader.info(), { code: 'index_missing' })

  await put(writer, somePassages(30))
  await replicaCache.sync()
  await reader.refresh()
  t.equal(await reader.count(), 30)
  t.match(replicaCache.status(), { trouble: undefined, checkedAt: Date })
  await writer.delete(['p3'])
  await put(writer, somePassages(5, 100))
  t.equal(await reader.count(), 30, 'as copied')
  await replicaCache.sync()
  await reader.refresh()
  t.equal(await reader.count(), 34)
  t.equal(await reader.get('p3'), undefined)
  const [question] = await embed(['river'])
  const found = (await reader.view().then((view) => view.search(question ?? new Float32Array(), { k: 5 }))).map(
    ({ id, score }) => `${id} ${score}`,
  )
  t.same(
    found,
    (await writer.view().then((view) => view.search(question ?? new Float32Array(), { k: 5 }))).map(({ id, score }) => `${id} ${score}`),
  )

  const { storedAs } = await reader.info()
  await planned(store, 'j1', somePassages(120, 500))
  await run(store, 'j1', { replace: true })
  await replicaCache.sync()
  t.equal((await reader.export().next()).done, false, 'what was open reads on')
  await reader.refresh()
  t.not((await reader.info()).storedAs, storedAs)
  t.equal(await reader.count(), 120)
  t.ok((await readdir(copy)).includes(`${storedAs}.lance`), 'the table before it is kept for who reads it')

  warnings.length = 0
  await rename(store, join(dir, 'away'))
  await t.rejects(replicaCache.sync())
  await t.rejects(replicaCache.sync())
  t.equal(warnings.length, 1, 'said once')
  t.match(replicaCache.status(), { trouble: /no table "passages"/, checkedAt: Date })
  const again = await replica(t, copy)
  for (const index of [reader, again])
    t.equal((await index.view().then((view) => view.search(question ?? new Float32Array(), { k: 5 }))).length, 5)
  // Background work of the writer may have made the folder again, for a lock.
  await rm(store, { recursive: true, force: true })
  await rename(join(dir, 'away'), store)
  await replicaCache.sync()
  t.equal(replicaCache.status().trouble, undefined)
})

await t.test('what is only read is neither made nor changed', async (t) => {
  const dir = await tempDir(t)
  const reader = await replica(t, join(dir, 'store'))
  await t.rejects(reader.info(), { code: 'index_missing' })
  t.same(await readdir(join(dir, 'store')).catch(() => []), [])
  await t.rejects(put(reader, somePassages(1)), { code: 'forbidden', message: /read-only access to the index/ })
  await t.rejects(reader.delete(['p1']), { code: 'forbidden' })
  t.notOk((await readdir(dir).catch(() => [])).some((name) => name.endsWith('.lance')))
})
