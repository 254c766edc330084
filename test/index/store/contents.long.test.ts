import t from 'tap'
import { createSnapshot, deleteSnapshot, listSnapshots, restoreSnapshot } from '../../../index/snapshots/snapshots.ts'
import { switchTable } from '../../../index/snapshots/replace.ts'
import { storeOf } from '../../../index/store/store-of.ts'
import { listNames } from '../../../index/store/object-store/objects.ts'
import { compactionCommand } from '../../../index/compaction/compact.ts'
import { openIndex } from '../../../index/open.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { noObjectStore, startObjectStore } from '../../helpers/object-store.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

type Test = Parameters<typeof tempDir>[0]

async function opened(t: Test, dir: string, table = 'passages') {
  const index = await openIndex({ dir, table, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const put = async (passages: readonly Passage[]) => index.upsert(passages, await embed(passages.map(passageText)))
  const ids = async () => (await index.list({ limit: 1000 })).map(({ id }) => id)
  return { index, put, ids }
}

/** What a user does with an index, and what is seen of it. */
async function lifeOf(t: Test, dir: string): Promise<unknown[]> {
  const seen: unknown[] = []
  const { index, put, ids } = await opened(t, dir)
  seen.push(await index.info().catch(({ code }: { code: string }) => code))
  await put(somePassages(40))
  await put([{ id: 'p3', title: 'changed', text: 'another text of the same id' }, ...somePassages(5, 40)])
  seen.push(await index.count(), await index.sources(), await index.get('p3'))
  seen.push(
    (await index.view().then((view) => view.search(embedText(passageText(somePassages(8)[7] as Passage)), { k: 1 }))).map(({ id }) => id),
  )
  seen.push((await index.view().then((view) => view.searchText('number 12', { k: 1 }))).map(({ id }) => id))
  const exported: string[] = []
  for await (const { id } of index.export({ source: 'odd.tsv' })) exported.push(id)
  seen.push(exported.sort())
  await createSnapshot('first', index)
  seen.push(await createSnapshot('first', index).catch(({ code }: { code: string }) => code))
  seen.push(await index.delete({ source: 'even.tsv' }), await index.delete(['p3', 'p5']), await ids())
  await createSnapshot('second', index)
  seen.push((await listSnapshots(index)).map(({ name, rows }) => `${name} ${rows}`))
  seen.push(await restoreSnapshot('first', { dir, table: 'passages', model: hashEmbedding }))
  await index.refresh()
  await put(somePassages(2, 100))
  seen.push(await ids())
  seen.push(await restoreSnapshot('second', { dir, table: 'passages', model: hashEmbedding }))
  await deleteSnapshot('second', index)
  await index.refresh()
  seen.push(
    await ids(),
    (await listSnapshots(index)).map(({ name }) => name),
  )
  seen.push(await restoreSnapshot('second', { dir, table: 'passages', model: hashEmbedding }).catch(({ code }: { code: string }) => code))
  const other = await opened(t, dir, 'other')
  await other.put(somePassages(7, 200))
  seen.push(await switchTable('other', { dir, table: 'passages', model: hashEmbedding }))
  await index.refresh()
  await other.put(somePassages(1, 300))
  seen.push(await ids(), (await other.ids()).length)
  for (let at = 0; at < 4; at++) await put(somePassages(1, 400 + at))
  const { before, after } = await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  seen.push(before.fragments > 1, after?.fragments, await ids())
  return seen
}

await t.test('a change is seen by the next read, however seldom changes of others are looked for', { skip: noObjectStore }, async (t) => {
  const store = await startObjectStore(t)
  const index = await openIndex({ dir: store.address(), model: hashEmbedding, consistencyMs: 600_000 })
  t.teardown(() => index.close())
  const some = somePassages(6)
  for (const passages of [some.slice(0, 4), some.slice(4)]) await index.upsert(passages, await embed(passages.map(passageText)))
  t.equal(await index.count(), 6)
  t.equal(await index.delete({ source: 'odd.tsv' }), 3)
  t.same(
    (await index.list({ limit: 10 })).map(({ id }) => id),
    ['p0', 'p2', 'p4'],
  )
  t.equal(await index.delete(['p2']), 1)
  t.equal(await index.get('p2'), undefined)
})

await t.test('an object store holds an index as a folder does', { skip: noObjectStore, timeout: 380_000 }, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  await storeOf(address).check(address, { writes: true })
  t.same(await listNames(address), [], 'looking leaves nothing')
  const [inFolder, inStore] = [await lifeOf(t, await tempDir(t)), await lifeOf(t, address)]
  t.same(inStore, inFolder)
  t.equal(inFolder.length, 24)
})
