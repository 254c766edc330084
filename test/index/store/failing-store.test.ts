import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { failureOf } from '../../../base/failures.ts'
import { IndexCollections } from '../../../index/collections/collections.ts'
import { passageText, type TableLocation } from '../../../index/contract.ts'
import { openIndex } from '../../../index/open.ts'
import { createSnapshot, listSnapshots, restoreSnapshot, verifyIndex } from '../../../index/snapshots/snapshots.ts'
import { readinessOf } from '../../../src/service/health.ts'
import { deleteObject, listObjects, putObject } from '../../../index/store/object-store/objects.ts'
import { aliasPath, readAlias, tableFolder } from '../../../index/versions/alias.ts'
import { startObjectStore, type Fault, type ObjectStore } from '../../helpers/object-store.ts'
import { embed, hashEmbedding, somePassages } from '../helpers.ts'
import { HERE } from './helpers.ts'

const MODEL = { model: hashEmbedding }

/** Closes the index at once: nothing is written in the background later. */
async function put(location: TableLocation, count: number, from = 0): Promise<void> {
  const index = await openIndex({ ...location, ...MODEL, consistencyMs: 0, onWarning: () => undefined })
  const passages = somePassages(count, from)
  await index.upsert(passages, await embed(passages.map(passageText))).finally(() => index.close())
}

async function filled(store: ObjectStore) {
  const location = { dir: store.address(), table: 'passages' }
  await put(location, 20)
  return { dir: location.dir, location }
}

/** Everything below an address, after `skip` requests that are for it. */
function below(part: string, what: Fault['what'], skip = 0): Fault {
  let seen = 0
  return { when: (_method, path) => path.includes(part) && seen++ >= skip, what }
}

const UNAVAILABLE = {
  code: 'store_unavailable',
  message: /object store of the index did not answer|object store of the index does not answer/,
}

/** An error as commands and routes show it. */
function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(() => 'nothing', failureOf)
}

await t.test('a store that refuses to have a table read is named, and no table is called damaged', HERE, async (t) => {
  const store = await startObjectStore(t)
  const { dir, location } = await filled(store)
  const main = await openIndex({ ...location, ...MODEL, consistencyMs: 0 })
  const collections = new IndexCollections({ main })
  t.teardown(() => collections.close())
  await collections.create('others')
  await createSnapshot('one', location)
  store.faults.push(below('others.', 403, 1))
  t.match(await collections.describe(['others', 'passages']), [
    { name: 'others', passages: undefined, state: 'unavailable', problem: UNAVAILABLE },
    { name: 'passages', passages: 20, state: 'ready' },
  ])
  store.faults.length = 0
  store.faults.push(below('__manifest', 403))
  t.match(await thrownBy(collections.describe(['others'])), UNAVAILABLE)
  store.faults.length = 0
  store.faults.push(below('/data/', 403))
  t.match(await thrownBy(verifyIndex(location)), UNAVAILABLE)
  store.faults.length = 0
  await deleteObject(`${dir}/passages.snapshots/one/snapshot.json`)
  await putObject(`${dir}/passages.snapshots/one/snapshot.json`, 'damaged')
  store.faults.push(below('one/snapshot.lance/data/', 403))
  await t.rejects(listSnapshots(location), UNAVAILABLE, 'no advice to delete an intact snapshot')
  store.faults.length = 0
  t.match(await listSnapshots(location), [{ name: 'one', rows: 20 }])
})

const DAMAGE = [
  { part: 'data', how: 'removed', damage: deleteObject },
  { part: '_indices', how: 'removed', damage: deleteObject },
  { part: '_versions', how: 'emptied', damage: (address: string) => putObject(address, '') },
]
for (const { part, how, damage } of DAMAGE)
  await t.test(`an object of ${part} that was ${how} by hand is named, with the last intact snapshot`, HERE, async (t) => {
    const store = await startObjectStore(t)
    const { dir, location } = await filled(store)
    await createSnapshot('good', location)
    await put(location, 5, 100)
    // The ages of objects are in seconds.
    await sleep(1000)
    await createSnapshot('later', location)
    const lose = async (folder: string): Promise<void> => {
      for await (const { name } of listObjects(folder)) if (name.startsWith(part)) await damage(`${folder}/${name}`)
    }
    await lose(tableFolder(dir, (await readAlias(location)) ?? ''))
    const named = (snapshot: string) => ({
      code: 'index_invalid',
      message: new RegExp(
        `${part}.* is missing, incomplete or changed\\. The last intact snapshot is "${snapshot}": cepe index snapshot restore`,
      ),
    })
    await t.rejects(verifyIndex(location), named('later'))
    const ready = await openIndex({ ...location, ...MODEL, consistencyMs: 0, onWarning: () => undefined })
    t.teardown(() => ready.close())
    t.match(await readinessOf({ index: ready }), [{ name: 'index', ok: false, detail: named('later').message }], 'not ready')
    await t.rejects(createSnapshot('broken', location), named('later'))
    const again = await openIndex({ ...location, ...MODEL, consistencyMs: 0, onWarning: () => undefined })
    t.teardown(() => again.close())
    await t.rejects(
      again.view().then((view) => view.searchText('harbor', { k: 3 })),
      named('later'),
    )
    await lose(`${dir}/passages.snapshots/later/snapshot.lance`)
    await t.rejects(restoreSnapshot('later', { ...location, ...MODEL }), named('good'))
    t.equal(await restoreSnapshot('good', { ...location, ...MODEL }), 20)
    t.match(await verifyIndex(location), { passages: 20 })
  })

await t.test('the probe answers while the store hangs, and is ready after', HERE, async (t) => {
  const store = await startObjectStore(t, { answerMs: 18_000 })
  const { location } = await filled(store)
  const index = await openIndex({ ...location, ...MODEL, consistencyMs: 0, onWarning: () => undefined })
  t.teardown(() => index.close())
  store.faults.push({ when: () => true, what: 'hang' })
  t.same(await readinessOf({ index }), [{ name: 'index', ok: false, detail: 'no answer within 15 s' }])
  store.faults.length = 0
  while (!(await readinessOf({ index })).every(({ ok }) => ok)) await sleep(100)
})

await t.test('a damaged alias or lock says how to mend it, and what it says works', HERE, async (t) => {
  const store = await startObjectStore(t)
  const { dir, location } = await filled(store)
  const [alias, live] = [aliasPath(location), (await readAlias(location)) ?? '']
  for (const text of ['', '{"stored_', '[]', '{"value": 1, "lease": {}}']) {
    await putObject(alias, text)
    await t.rejects(readAlias(location), { code: 'index_invalid', message: /its value should be \{"stored_as":/ }, text)
  }
  await t.rejects(put(location, 1, 100), { code: 'index_invalid', message: /an alias should be \{"stored_as":/ })
  await putObject(alias, JSON.stringify({ stored_as: live }))
  t.equal(await readAlias(location), live)
  await put(location, 1, 100)
  await putObject(`${dir}/writer`, '')
  const restoring = () => restoreSnapshot('one', { ...location, ...MODEL })
  await createSnapshot('one', location)
  await t.rejects(restoring(), { code: 'index_invalid', message: /writer is damaged.* a lock can be removed/ })
  await deleteObject(`${dir}/writer`)
  t.equal(await restoring(), 21)
})
