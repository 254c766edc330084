import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { contentHash } from '../../../index/hash.ts'
import { takeLease } from '../../../index/store/object-store/lease.ts'
import { listNames, putObject, readObject } from '../../../index/store/object-store/objects.ts'
import { storeOf } from '../../../index/store/store-of.ts'
import { openIndex } from '../../../index/open.ts'
import { fenceLive, tryJobLock, withMaintenanceLock, withWriterLock } from '../../../index/writers/locks.ts'
import { aliasPath, readAlias, tableFolder, writeAlias } from '../../../index/versions/alias.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { packVectors } from '../../../index/table/rows.ts'
import { mergeRows } from '../../../index/table/write.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { startObjectStore } from '../../helpers/object-store.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'
import { codeOf, expected, HERE, isManifest, rowsAt } from './helpers.ts'

await t.test('who lost the turn changes nothing any more', HERE, async (t) => {
  const store = await startObjectStore(t, { answerMs: 30_000 })
  const address = store.address()
  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const put = async (passages: readonly Passage[]) => index.upsert(passages, await embed(passages.map(passageText)))
  await put(somePassages(10))
  const path = aliasPath({ dir: address, table: 'passages' })
  const before = await readAlias({ dir: address, table: 'passages' })
  /** As another process does once it takes this one for dead. */
  const takenOver = async () => {
    const found = JSON.parse((await readObject(path))?.text ?? '') as { lease: object }
    await putObject(path, JSON.stringify({ ...found, lease: { token: 'of another', process: 'elsewhere', beat: 0 }, nonce: 'x' }))
  }
  const flip = withWriterLock({ dir: address, table: 'passages' }, async () => {
    await takenOver()
    await writeAlias({ dir: address, table: 'passages' }, 'passages.wrong')
  })
  t.equal(await codeOf(flip), 'conflict')
  t.same(await readAlias({ dir: address, table: 'passages' }), before, 'the alias stays')
  const takeovers: string[] = []
  const take = (how: string, onTakeover: () => Promise<void>) =>
    takeLease(path, {
      waitMs: 60_000,
      onTakeover: async () => {
        takeovers.push(how)
        await onTakeover()
      },
    })
  t.equal(await codeOf(take('failed', () => Promise.reject(new CodedError('store_unavailable', 'away')))), 'store_unavailable')
  await (await take('done', () => Promise.resolve()))?.release()
  await (await take('not needed', () => Promise.resolve()))?.release()
  t.same(
    takeovers,
    ['failed', 'done'],
    'after a while the other is taken for dead in its turn; who could not end its writes leaves that to the next',
  )

  // Long enough that the holder finds out by itself, before its commit is refused.
  const taken = async () => {
    await takenOver()
    await fenceLive({ dir: address, table: 'passages' })
    await sleep(5000)
  }
  store.faults.push({ when: isManifest, times: 1, what: { after: taken } })
  t.equal(await codeOf(put(somePassages(5, 50))), 'conflict', 'its commit was on its way when it lost the turn')
  t.equal(store.faults[0]?.times, 0)
  t.same(await rowsAt(address), expected(somePassages(10)), 'and is not in the table')
  t.equal(await codeOf(put(somePassages(5, 70))), 'none', 'the next one waits for its turn')
  t.same(await rowsAt(address), expected([...somePassages(10), ...somePassages(5, 70)]))
})

await t.test('who lost the upkeep to another while it tidied goes on taking changes', HERE, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const some = somePassages(10)
  await withMaintenanceLock({ dir: address, table: 'passages' }, { waitMs: 0 }, async () => {
    const path = `${address}/passages.upkeep`
    const found = JSON.parse((await readObject(path))?.text ?? '') as { lease: object }
    await putObject(path, JSON.stringify({ ...found, lease: { token: 'of another', process: 'elsewhere', beat: 0 }, nonce: 'x' }))
    // Long enough that it finds out.
    await sleep(5000)
    t.equal(await codeOf(index.upsert(some, await embed(some.map(passageText)))), 'none')
  })
  t.same(await rowsAt(address), expected(some))
})

await t.test('a commit that comes in between a fence is kept', HERE, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const some = somePassages(10)
  await index.upsert(some, await embed(some.map(passageText)))
  const storedAs = (await readAlias({ dir: address, table: 'passages' })) ?? ''
  const connection = await connectLance(address, 0)
  t.teardown(() => connection.close())
  const late = somePassages(5, 50)
  const halves = packVectors(late, await embed(late.map(passageText)), hashEmbedding.dimension)
  const rows = { passages: late, hashes: late.map(contentHash), halves }
  const commit = async () => mergeRows(await connection.openTable(storedAs), rows, hashEmbedding.dimension)
  store.faults.push({ when: isManifest, times: 1, what: { after: commit } })
  await fenceLive({ dir: address, table: 'passages' })
  t.same(await rowsAt(address), expected([...some, ...late]))
})

await t.test('what a removal that was cut off left behind stands in the way of nobody', HERE, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  const dir = await tempDir(t)
  for (const storedAs of ['passages.gone', 'passages.j1']) await putObject(`${tableFolder(address, storedAs)}/data/left.lance`, 'left')
  const lease = { token: 'of another', process: 'elsewhere', beat: 3 }
  await putObject(`${address}/writer`, JSON.stringify({ value: null, lease, nonce: 'x' }))
  t.equal(await tryJobLock(address), undefined, 'somebody seems to write')
  let lock: Awaited<ReturnType<typeof tryJobLock>>
  for (const end = Date.now() + 60_000; lock === undefined && Date.now() < end; await sleep(200)) lock = await tryJobLock(address)
  t.ok(lock, 'taken over, past a table that cannot be opened')
  await run(address, 'j1', { folder: await planned(dir, 'j1', somePassages(60)), replace: true })
  t.same(await rowsAt(address), expected(somePassages(60)), 'a job makes its table where another one was removed')
  await lock?.release()
})

await t.test('what is wrong with a store is said at once', HERE, async (t) => {
  const store = await startObjectStore(t, { answerMs: 500 })
  const address = store.address()
  const said = async (where = address) =>
    storeOf(where)
      .check(where, { writes: true })
      .then(
        () => ({ code: 'none', message: '' }),
        ({ code, message }: CodedError) => ({ code, message }),
      )
  t.match(await said('s3://no-such-bucket/index'), { code: 'config_invalid', message: /no bucket s3:\/\/no-such-bucket/ })
  store.faults.push({ when: () => true, what: 403 })
  t.match(await said(), { code: 'config_invalid', message: /may not do that.*s3:ListBucket/ })
  store.faults.splice(0, 1, { when: (method) => method === 'PUT', what: 403 })
  t.match(await said(), { code: 'config_invalid', message: /s3:PutObject/ })
  store.faults.splice(0, 1, { when: () => true, what: 301 })
  t.match(await said(), { code: 'config_invalid', message: /another region.*AWS_REGION/ })
  store.faults.splice(0, 1, { when: (method) => method === 'PUT', what: { strip: 'if-none-match' } })
  t.match(await said(), { code: 'config_invalid', message: /conditional writes/ })
  store.faults.splice(0, 1, { when: () => true, what: 'hang' })
  t.match(await said(), { code: 'store_unavailable' })
  store.faults.splice(0, 1, { when: () => true, what: 503 })
  t.match(await said(), { code: 'store_unavailable', message: /503/ })
  store.faults.length = 0
  store.reachable = false
  const away = await said()
  t.match(away, { code: 'store_unavailable', message: /AWS_ENDPOINT_URL/ })
  t.notMatch(JSON.stringify(away), /a-secret-of|a-key-of/)
  store.reachable = true
  t.same(await said(), { code: 'none', message: '' })
  t.same(await listNames(address), [], 'and nothing is left')
})
