import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { contentHash } from '../../../index/hash.ts'
import { LEASE_MS, takeLease } from '../../../index/store/lease.ts'
import { listNames, putObject, readObject } from '../../../index/store/objects.ts'
import { checkStore } from '../../../index/store/check.ts'
import { openIndex } from '../../../index/open.ts'
import { tryLock } from '../../../index/ingest/lock.ts'
import { aliasPath, readAlias, tableFolder, writeAlias } from '../../../index/table/alias.ts'
import { fenceLive } from '../../../index/table/fence.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { packVectors } from '../../../index/table/rows.ts'
import { mergeRows } from '../../../index/table/write.ts'
import { inTurn } from '../../../index/table/turn.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { noObjectStore, startObjectStore, type Fault } from '../../helpers/object-store.ts'
import { storedRows } from '../../helpers/stored-rows.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'

function expected(passages: readonly Passage[]): string[] {
  return passages.map((passage) => `${passage.id} ${contentHash(passage)}`).sort()
}

async function rowsAt(address: string): Promise<string[]> {
  return (await storedRows(address)).map(([row]) => row)
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof CodedError ? error.code : String(error)),
  )
}

/** Strikes a share of the requests that it is for, not in step with anything, the same ones every time (Lehmer). */
function sometimes(share: number, when: Fault['when'], what: Fault['what']): Fault {
  let seed = Math.round(1 / share) + 16
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  return { when: (...request) => when(...request) && next() < share, what }
}

const isManifest: Fault['when'] = (method, path) => method === 'PUT' && path.includes('.manifest')
const isOwn: Fault['when'] = (method, path) => method === 'PUT' && /\.json|writer|\/entries\//.test(path)
const isList: Fault['when'] = (method, path) => method === 'GET' && path.includes('list-type=2')

const HERE = { skip: noObjectStore, timeout: 380_000 }

await t.test('answers that are lost, late or wrong: no row is lost, none is there twice', HERE, async (t) => {
  const store = await startObjectStore(t, { answerMs: 1500 })
  const address = store.address()
  const dir = await tempDir(t)
  const [first, second] = [somePassages(230), somePassages(260, 100).map((passage) => ({ ...passage, title: `New ${passage.id}` }))]
  const folders = { j1: await planned(dir, 'j1', first), j2: await planned(dir, 'j2', second) }
  store.faults.push(
    { when: isManifest, times: 1, what: 'hang' },
    { when: isOwn, times: 1, what: 'hang' },
    sometimes(1 / 3, isManifest, 'lose'),
    sometimes(1 / 4, isOwn, 'lose'),
    sometimes(1 / 7, (method) => method === 'PUT', 503),
    sometimes(1 / 5, isList, { ms: 400 }),
    sometimes(1 / 9, (method) => method === 'GET', 500),
  )
  /** Goes on with a job whatever stopped it, as its user would. */
  const finish = async (jobId: 'j1' | 'j2', replace: boolean) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run(address, jobId, { folder: folders[jobId], replace })
      } catch (error) {
        t.comment(`${jobId} was stopped: ${String(error).slice(0, 120)}`)
        if (attempt === 10) throw error
      }
    }
  }
  await finish('j1', true)
  t.same(await rowsAt(address), expected(first))
  await finish('j2', false)
  const changed = new Map([...first, ...second].map((passage) => [passage.id, passage]))
  t.same(await rowsAt(address), expected([...changed.values()]))

  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const put = async (passages: readonly Passage[]) => index.upsert(passages, await embed(passages.map(passageText)))
  for (let at = 0; at < 6; at++) {
    const some = somePassages(3, 480 + 2 * at)
    await put(some).catch(() => put(some))
    for (const passage of some) changed.set(passage.id, passage)
  }
  t.same(await rowsAt(address), expected([...changed.values()]))
  store.faults.length = 0
  t.match(await listNames(`${address}/passages.changes/lists`), ['j1', 'j2'], 'notes are kept until a job is said to be at its end')
})

await t.test('who lost the turn changes nothing any more', HERE, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const put = async (passages: readonly Passage[]) => index.upsert(passages, await embed(passages.map(passageText)))
  await put(somePassages(10))
  const path = aliasPath(address, 'passages')
  const before = await readAlias(address, 'passages')
  /** As another process does once it takes this one for dead. */
  const takenOver = async () => {
    const found = JSON.parse((await readObject(path))?.text ?? '') as { lease: object }
    await putObject(path, JSON.stringify({ ...found, lease: { token: 'of another', process: 'elsewhere', beat: 0 }, nonce: 'x' }))
  }
  const flip = inTurn(address, 'passages', async () => {
    await takenOver()
    await writeAlias(address, 'passages', { stored_as: 'passages.wrong', replaced_by_job: null })
  })
  t.equal(await codeOf(flip), 'conflict')
  t.same(await readAlias(address, 'passages'), before, 'the alias stays')
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
    await fenceLive(address, 'passages')
    await sleep(LEASE_MS / 2)
  }
  store.faults.push({ when: isManifest, times: 1, what: { after: taken } })
  t.equal(await codeOf(put(somePassages(5, 50))), 'conflict', 'its commit was on its way when it lost the turn')
  t.equal(store.faults[0]?.times, 0)
  t.same(await rowsAt(address), expected(somePassages(10)), 'and is not in the table')
  t.equal(await codeOf(put(somePassages(5, 70))), 'none', 'the next one waits for its turn')
  t.same(await rowsAt(address), expected([...somePassages(10), ...somePassages(5, 70)]))
})

await t.test('a commit that comes in between a fence is kept', HERE, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const some = somePassages(10)
  await index.upsert(some, await embed(some.map(passageText)))
  const storedAs = (await readAlias(address, 'passages'))?.stored_as ?? ''
  const connection = await connectLance(address, 0)
  t.teardown(() => connection.close())
  const late = somePassages(5, 50)
  const halves = packVectors(late, await embed(late.map(passageText)), hashEmbedding.dimension)
  const rows = { passages: late, hashes: late.map(contentHash), halves }
  const commit = async () => mergeRows(await connection.openTable(storedAs), rows, hashEmbedding.dimension)
  store.faults.push({ when: isManifest, times: 1, what: { after: commit } })
  await fenceLive(address, 'passages')
  t.same(await rowsAt(address), expected([...some, ...late]))
})

await t.test('what a removal that was cut off left behind stands in the way of nobody', HERE, async (t) => {
  const store = await startObjectStore(t)
  const address = store.address()
  const dir = await tempDir(t)
  for (const storedAs of ['passages.gone', 'passages.j1']) await putObject(`${tableFolder(address, storedAs)}/data/left.lance`, 'left')
  const lease = { token: 'of another', process: 'elsewhere', beat: 3 }
  await putObject(`${address}/writer`, JSON.stringify({ value: null, lease, nonce: 'x' }))
  t.equal(await tryLock(address), undefined, 'somebody seems to write')
  let lock: Awaited<ReturnType<typeof tryLock>>
  for (const end = Date.now() + 60_000; lock === undefined && Date.now() < end; await sleep(200)) lock = await tryLock(address)
  t.ok(lock, 'taken over, past a table that cannot be opened')
  await run(address, 'j1', { folder: await planned(dir, 'j1', somePassages(60)), replace: true })
  t.same(await rowsAt(address), expected(somePassages(60)), 'a job makes its table where another one was removed')
  await lock?.release()
})

await t.test('what is wrong with a store is said at once', HERE, async (t) => {
  const store = await startObjectStore(t, { answerMs: 500 })
  const address = store.address()
  const said = async (where = address) =>
    checkStore(where, { writes: true }).then(
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
