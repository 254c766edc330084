import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { IndexCollections } from '../../../index/collections/collections.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { openIndex } from '../../../index/open.ts'
import { startReplicaCache } from '../../../index/replica/replica-cache.ts'
import { createSnapshot } from '../../../index/snapshots/snapshots.ts'
import { watchChanges } from '../../../index/writers/change-log.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { writeSchemaVersion } from '../../../index/table/metadata.ts'
import { SCHEMA_VERSION } from '../../../migrations/list.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

const MODEL = { model: hashEmbedding }

async function opened(t: Test, dir: string, options: Partial<ConstructorParameters<typeof IndexCollections>[0]> = {}) {
  const main = await openIndex({ ...MODEL, dir, consistencyMs: 20 })
  const collections = new IndexCollections({ main, ...options })
  t.teardown(() => collections.close())
  return { main, collections }
}

async function put(index: PassageIndex, first: number, n = 3): Promise<void> {
  const passages = somePassages(n, first)
  await index.upsert(passages, await embed(passages.map(({ title, text }) => `${title} ${text}`)))
}

function nothingOf(dir: string, table: string): Promise<string[]> {
  // What stays is empty: the files of the locks.
  return readdir(dir).then((names) => names.filter((name) => name.startsWith(`${table}.`) && !/\.(turns|upkeep)/.test(name)))
}

await t.test('tables are made, listed, searched and written side by side', async (t) => {
  const dir = await tempDir(t)
  const { main, collections } = await opened(t, dir)
  t.same(await collections.names(), ['passages'])
  t.match(await collections.describe(['passages']), [{ name: 'passages', state: 'missing', passages: undefined }])
  t.equal(await collections.create('law'), true)
  t.equal(await collections.create('law'), false, 'one that is there stays')
  const law = await collections.open('law')
  t.equal(await law.count(), 0)
  await put(main, 0)
  await put(law, 10, 2)
  const [hit] = await law.view().then((view) => view.search(embedText('Place 11'), { k: 1 }))
  t.match(hit, { id: /^p1[01]$/ })
  t.equal(await law.get('p0'), undefined)
  t.match(await collections.describe(await collections.names()), [
    { name: 'law', passages: 2, state: 'ready' },
    { name: 'passages', passages: 3, state: 'ready' },
  ])
  t.equal(await collections.open('passages'), main)
  for (const name of ['none', 'la']) await t.rejects(collections.open(name), { code: 'unknown_collection', field: 'collection' }, name)
  await t.rejects(collections.create('../law'), { code: 'invalid_request' })
})

await t.test('few are open at a time, those that were not used for longest are closed, and all can be read', async (t) => {
  const dir = await tempDir(t)
  const { collections } = await opened(t, dir, { mostOpen: 2 })
  const names = ['a', 'b', 'c', 'd']
  for (const [i, name] of names.entries()) {
    await collections.create(name)
    await put(await collections.open(name), 10 * i, i + 1)
  }
  t.equal(collections.opened, 3, 'two and the main one')
  const all = await Promise.all(names.map((name) => collections.open(name)))
  const views = await Promise.all(all.map((index) => index.view()))
  t.same(await Promise.all(all.map((index) => index.count())), [1, 2, 3, 4])
  const reading = all[0]?.export()
  await reading?.next()
  for (let i = 0; i < 3; i++) for (const index of all) await index.count()
  t.equal(collections.opened, 3)
  t.match(await reading?.next(), { done: true }, 'a read that is under way is not ended')
  for (const [i, view] of views.entries())
    t.equal((await view.search(embedText('Place'), { k: 9 })).length, i + 1, 'nor is a question that began before its table was closed')
})

await t.test('many that ask for a closed table at once open it once, and one that does not open keeps nobody else', async (t) => {
  const dir = await tempDir(t)
  const { collections } = await opened(t, dir)
  for (const name of ['good', 'bad']) {
    await collections.create(name)
    await put(await collections.open(name), 0)
  }
  collections.close()
  const [folder = ''] = (await readdir(dir)).filter((name) => /^bad\..*lance$/.test(name))
  await rm(join(dir, folder), { recursive: true })
  const asked = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) => collections.open(i % 2 === 0 ? 'good' : 'bad').then((index) => index.count())),
  )
  t.same(
    asked.map(({ status }) => status),
    Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? 'fulfilled' : 'rejected')),
  )
  t.match(await collections.describe(['bad', 'good']), [{ name: 'bad', state: /^(incompatible|missing|unavailable)$/ }, { state: 'ready' }])
})

await t.test('one of another model is listed as such, and refused by its name', async (t) => {
  const dir = await tempDir(t)
  const foreign = { id: 'another-model', dimension: 2 }
  const other = await openIndex({ dir, table: 'foreign', model: foreign })
  await other.upsert(somePassages(1), [new Float32Array([1, 0])])
  other.close()
  const { collections } = await opened(t, dir)
  t.match(await collections.describe(['foreign']), [
    { name: 'foreign', passages: 1, state: 'incompatible', problem: { code: 'index_invalid' } },
  ])
  const index = await collections.open('foreign')
  await t.rejects(index.view(), { code: 'index_invalid', message: /"foreign".*another-model/ })
  t.equal(await index.count(), 1, 'what needs no vectors can be read')
})

await t.test('one that needs newer software is listed as such, although its model is loaded, and refused by its name', async (t) => {
  const dir = await tempDir(t)
  const { collections } = await opened(t, dir)
  await collections.create('future')
  const connection = await connectLance(dir, undefined)
  const table = await connection.openTable((await connection.tableNames()).find((name) => name.startsWith('future.')) ?? '')
  await writeSchemaVersion(table, SCHEMA_VERSION + 1, SCHEMA_VERSION + 1)
  connection.close()
  t.match(await collections.describe(['future']), [
    { name: 'future', passages: 0, state: 'incompatible', problem: { code: 'index_invalid', message: /made for newer software/ } },
  ])
  await t.rejects(
    collections.open('future').then((index) => index.view()),
    { code: 'index_invalid', message: /"future".*newer software/ },
  )
})

await t.test('a removed collection is gone for all, and no write brings it back', async (t) => {
  const dir = await tempDir(t)
  const { collections } = await opened(t, dir)
  const { collections: elsewhere } = await opened(t, dir)
  await collections.create('law')
  const there = await elsewhere.open('law')
  await put(there, 0)
  await createSnapshot('one', { dir, table: 'law' })
  await collections.create('lawyers')
  await watchChanges({ dir, table: 'law' }, '20261122T000000000-abcd')
  await t.rejects(collections.remove('law'), { code: 'conflict', message: /20261122T000000000-abcd.*cancel/ })
  t.equal(await there.count(), 3, 'refused, it is whole')
  await rm(join(dir, 'law.changes'), { recursive: true })
  await collections.remove('law')
  t.same(await nothingOf(dir, 'law'), [])
  t.same(await collections.names(), ['lawyers', 'passages'])
  await t.rejects(put(there, 0), { code: 'unknown_collection' })
  await t.rejects(there.view(), { code: 'unknown_collection' })
  await t.rejects(collections.remove('law'), { code: 'unknown_collection', field: 'name' })
  await t.rejects(collections.remove('passages'), { code: 'conflict', message: /CEPE_TABLE/ })
  t.equal(await collections.create('law'), true)
  t.equal(await (await elsewhere.open('law')).count(), 0, 'made anew it is empty')
})

await t.test('a removal that was cut off is ended: before its name went nothing is lost, after it nothing is left', async (t) => {
  const dir = await tempDir(t)
  const { collections } = await opened(t, dir)
  for (const name of ['whole', 'half', 'again']) {
    await collections.create(name)
    await put(await collections.open(name), 0)
    await writeFile(join(dir, `${name}.removing`), '')
  }
  await createSnapshot('one', { dir, table: 'half' })
  for (const name of ['half', 'again']) await rm(join(dir, `${name}.alias.json`))
  collections.close()
  t.equal(await collections.create('again'), true)
  t.equal(await (await collections.open('again')).count(), 0)
  await collections.finishRemovals()
  t.same(await nothingOf(dir, 'half'), [])
  t.equal((await nothingOf(dir, 'again')).length, 2, 'its name and its table')
  t.equal(await (await collections.open('whole')).count(), 3)
  t.same(await collections.names(), ['again', 'passages', 'whole'])
})

await t.test('a collection whose alias is lost is not begun anew', async (t) => {
  const dir = await tempDir(t)
  const { collections } = await opened(t, dir)
  await collections.create('law')
  await put(await collections.open('law'), 0)
  await rm(join(dir, 'law.alias.json'))
  const again = await opened(t, dir)
  await t.rejects(again.collections.create('law'), { code: 'index_invalid', message: /law\.alias\.json is missing, and law\..+\.lance/ })
  t.equal(await again.collections.create('empty'), true)
  await rm(join(dir, 'empty.alias.json'))
  t.equal(await (await opened(t, dir)).collections.create('empty'), true, 'without passages nothing is lost')
})

await t.test('a name is pointed at what another collection holds, at once', async (t) => {
  const dir = await tempDir(t)
  const { main, collections } = await opened(t, dir)
  await put(main, 0)
  await collections.create('next')
  const next = await collections.open('next')
  await put(next, 10, 5)
  await collections.copy('passages', 'next')
  await main.refresh()
  t.equal(await main.count(), 5)
  await collections.copy('kept', 'passages')
  t.equal(await (await collections.open('kept')).count(), 5)
  await next.delete({ source: 'even.tsv' })
  t.equal(await main.count(), 5, 'each goes its own way')
  await t.rejects(collections.copy('kept', 'none'), { code: 'unknown_collection', field: 'copy_of' })
  await t.rejects(collections.copy('kept', 'kept'), { code: 'invalid_request', field: 'copy_of' })
})

await t.test('a replica answers from its copy of the main collection, reads the others where they are, and changes none', async (t) => {
  const [dir, copy] = [await tempDir(t), await tempDir(t)]
  const { collections: written } = await opened(t, dir)
  await put(written.main, 0)
  await written.create('law')
  await put(await written.open('law'), 10, 2)
  const replicaCache = await startReplicaCache({ from: dir, to: copy, table: 'passages', models: MODEL })
  t.teardown(() => replicaCache.close())
  const main = await openIndex({ ...MODEL, dir: copy, readOnly: true })
  const collections = new IndexCollections({ main, dir, readOnly: true })
  t.teardown(() => collections.close())
  t.equal(main.dir, copy)
  t.match(await collections.describe(await collections.names()), [
    { name: 'law', passages: 2, state: 'ready' },
    { name: 'passages', passages: 3, state: 'ready' },
  ])
  const law = await collections.open('law')
  t.equal((await law.view().then((view) => view.search(embedText('Place 11'), { k: 5 }))).length, 2)
  await t.rejects(put(law, 20), { code: 'forbidden' })
  await t.rejects(law.delete(['p10']), { code: 'forbidden' })
})

await t.test('a collection that another process removes, or makes again, is not called damaged', async (t) => {
  const dir = await tempDir(t)
  const { collections: other } = await opened(t, dir)
  const { collections } = await opened(t, dir)
  for (const [name, again, closed] of [
    ['gone', false, false],
    ['again', true, false],
    ['closed', true, true],
  ] as const) {
    await other.create(name)
    await put(await other.open(name), 0)
    const law = await collections.open(name)
    const view = await law.view()
    t.equal((await view.search(embedText('Place 1'), { k: 1 })).length, 1)
    await other.remove(name)
    if (closed) await t.rejects(law.get('p0'), { code: 'unknown_collection' }, 'which closes the table, but not the view')
    if (again) {
      await other.create(name)
      await put(await other.open(name), 10)
    }
    const refused = again
      ? { code: 'store_unavailable', message: 'The table was replaced while it was read: try again.', retryAfterS: 1 }
      : { code: 'unknown_collection', field: 'collection' }
    const vector = embedText('Place 1')
    await t.rejects(view.search(vector, { k: 1 }), refused, 'by vectors')
    await t.rejects(view.searchText('Place', { k: 1 }), again ? refused : { code: 'unknown_collection' }, 'by words')
    await t.rejects(view.searchHybrid('Place', vector, { k: 1 }), refused, 'by both')
    if (again) t.match(await law.get('p10'), { id: 'p10' }, 'the next read finds the new one')
    else await t.rejects(law.get('p0'), refused)
  }
})
