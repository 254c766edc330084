import t, { type Test } from 'tap'
import { IndexCollections } from '../../../index/collections/collections.ts'
import { openIndex } from '../../../index/open.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { storeOf } from '../../../index/store/store-of.ts'
import { createSnapshot } from '../../../index/snapshots/snapshots.ts'
import { noObjectStore, startObjectStore } from '../../helpers/object-store.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

async function put(index: PassageIndex, n: number): Promise<void> {
  const passages = somePassages(n)
  await index.upsert(passages, await embed(passages.map(({ title, text }) => `${title} ${text}`)))
}

/** What is done with collections, and what is seen of them. */
async function lifeOf(t: Test, dir: string): Promise<unknown[]> {
  const collections = new IndexCollections({ main: await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 }), mostOpen: 1 })
  t.teardown(() => collections.close())
  const seen: unknown[] = []
  const see = async () => {
    const found = await collections.describe(await collections.names())
    seen.push(found.map(({ name, passages, state }) => ({ name, passages, state })))
  }
  const codeOf = (work: Promise<unknown>) => work.then(String, ({ code }: { code: string }) => code)
  for (const name of ['law', 'med']) seen.push(await collections.create(name), await collections.create(name))
  const [law, med] = [await collections.open('law'), await collections.open('med')]
  await put(law, 3)
  await put(med, 5)
  await see()
  await createSnapshot('one', { dir, table: 'law' })
  seen.push(await collections.copy('passages', 'med'), await collections.copy('tax', 'law'))
  await see()
  await collections.remove('law')
  seen.push(
    await codeOf(law.count()),
    await codeOf(put(law, 1)),
    await codeOf(collections.remove('law')),
    await codeOf(collections.open('law')),
  )
  await see()
  const left = (await storeOf(dir).files.list(dir)).filter((name) => /^law\.(?!alias|turns|upkeep)/.test(name))
  seen.push(left, await collections.create('law'), await (await collections.open('law')).count())
  await collections.finishRemovals()
  await see()
  return seen
}

await t.test('collections of an object store are those of a folder', { skip: noObjectStore, timeout: 200_000 }, async (t) => {
  const store = await startObjectStore(t)
  const inFolder = await lifeOf(t, await tempDir(t))
  t.same(inFolder.at(-1), [
    { name: 'law', passages: 0, state: 'ready' },
    { name: 'med', passages: 5, state: 'ready' },
    { name: 'passages', passages: 5, state: 'ready' },
    { name: 'tax', passages: 3, state: 'ready' },
  ])
  t.same(inFolder.slice(8, 12), ['unknown_collection', 'unknown_collection', 'unknown_collection', 'unknown_collection'])
  t.same(await lifeOf(t, store.address()), inFolder)
})
