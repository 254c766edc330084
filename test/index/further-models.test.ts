import { readdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesUnder } from '../../index/store/store-of.ts'
import t, { type Test } from 'tap'
import { CodedError } from '../../base/errors.ts'
import { passageText, type Embed, type EmbeddingModel, type Models, type Passage } from '../../index/contract.ts'
import { removeStale } from '../../index/ingest/remove-stale.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import { createSnapshot, restoreSnapshot } from '../../index/snapshots/snapshots.ts'
import { tableFolder } from '../../index/versions/alias.ts'
import { unwatchChanges } from '../../index/writers/change-log.ts'
import { startReplicaCache } from '../../index/replica/replica-cache.ts'
import { embedText, hashEmbedding, somePassages, tempDir } from './helpers.ts'
import { planned, run } from './ingest/job-helpers.ts'

/** Of the same shape as the first, and of another: only their names tell them apart, or their sizes too. */
const A = hashEmbedding
const B: EmbeddingModel = { id: 'turned-words-32', dimension: 32 }
const C: EmbeddingModel = { id: 'long-words-40', dimension: 40 }
const VECTORS: Record<string, (text: string) => Float32Array> = {
  [A.id]: embedText,
  [B.id]: (text) => embedText(text).map((value, i, all) => (all[31 - i] ?? 0) * (i % 2 === 0 ? 1 : -1)),
  [C.id]: (text) => Float32Array.from({ length: 40 }, (_, i) => embedText(text)[i] ?? 0),
}
const vectorBy = ({ id }: EmbeddingModel, text: string): Float32Array => VECTORS[id]?.(text) ?? new Float32Array()
const embedBy =
  (model: EmbeddingModel): Embed =>
  (texts) =>
    Promise.resolve(texts.map((text) => vectorBy(model, text)))

async function opened(t: Test, dir: string, models: Models, readOnly = false): Promise<PassageIndex> {
  const index = await openIndex({ dir, ...models, consistencyMs: 0, readOnly })
  t.teardown(() => index.close())
  return index
}

async function put(index: PassageIndex, passages: readonly Passage[], by: EmbeddingModel): Promise<void> {
  await index.upsert(passages, await embedBy(by)(passages.map(passageText)), { by })
}

/** Puts a table of a model behind the name. */
async function replaced(dir: string, job: string, model: EmbeddingModel, passages: readonly Passage[]): Promise<void> {
  await planned(dir, job, passages)
  await run(dir, job, { replace: true, model, embed: embedBy(model) })
  await unwatchChanges({ dir, table: 'passages' }, job)
}

/** The passage that a text is found as, searched with the model of the table. */
async function found(index: PassageIndex, text: string): Promise<string> {
  const view = await index.view()
  const [hit] = await view.search(vectorBy(view.model, text), { k: 1 })
  return `${view.model.id} ${hit?.id} ${hit?.score.toFixed(2)}`
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof CodedError ? error.code : String(error)),
  )

await t.test('a process that has both models searches and changes tables of both, each with its own', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir, { model: B, furtherModels: [A, C] })
  const onlyA = await opened(t, dir, { model: A })
  await put(onlyA, somePassages(20), A)
  const text = passageText(somePassages(8)[7] as Passage)
  t.equal(await found(index, text), `${A.id} p7 1.00`)
  t.equal((await index.writtenWith()).id, A.id)
  t.equal(await codeOf(put(index, somePassages(1, 50), B)), 'conflict')
  t.equal(await index.count(), 20, 'and nothing is written with one')
  await put(index, somePassages(1, 50), A)
  await createSnapshot('of-a', index)

  const before = await index.view()
  await replaced(dir, 'j1', B, somePassages(30))
  await index.refresh()
  t.equal(await found(index, text), `${B.id} p7 1.00`)
  t.equal((await before.search(vectorBy(A, text), { k: 1 }))[0]?.id, 'p7', 'who began in the table before ends there')
  t.equal((await before.version()).passages, 21)
  t.equal(await codeOf(put(index, somePassages(1, 60), A)), 'conflict')
  await put(index, somePassages(1, 60), B)
  t.equal(await index.count(), 31)

  await replaced(dir, 'j2', C, somePassages(10))
  await index.refresh()
  t.equal(await found(index, text), `${C.id} p7 1.00`)
  t.equal(await restoreSnapshot('of-a', index), 21)
  await index.refresh()
  t.equal(await found(index, text), `${A.id} p7 1.00`, 'and the way back')
  t.equal(await restoreSnapshot('of-a', { dir, table: 'passages', model: B }), 21, 'also where none but A can search it before and after')
  await replaced(dir, 'j3', B, somePassages(10))
  // The lock of upkeep appears when words are indexed, a second after a put.
  const entries = async () => (await readdir(dir)).filter((name) => !name.endsWith('.upkeep'))
  const tables = await entries()
  await t.rejects(restoreSnapshot('of-a', { dir, table: 'passages', model: B }), { code: 'index_invalid', message: new RegExp(B.id) })
  t.same(await entries(), tables, 'what was made in vain is gone')
})

await t.test('who has not the model of the newest table answers from the one before, says so, and changes nothing', async (t) => {
  const dir = await tempDir(t)
  const both = await opened(t, dir, { model: B, furtherModels: [A] })
  const onlyA = await opened(t, dir, { model: A })
  const replica = await opened(t, dir, { model: A }, true)
  await put(onlyA, somePassages(20), A)
  const text = passageText(somePassages(8)[7] as Passage)
  t.equal(await found(replica, text), `${A.id} p7 1.00`)
  const { storedAs } = await replica.info()
  await replaced(dir, 'j1', B, somePassages(30))
  await both.refresh()
  for (const index of [replica, onlyA]) {
    t.equal(index.behind(), undefined)
    await t.rejects(index.refresh(), { code: 'index_invalid', message: /CEPE_FURTHER_RETRIEVERS/ })
    t.match(index.behind(), { code: 'index_invalid', message: new RegExp(B.id) })
    t.equal(await found(index, text), `${A.id} p7 1.00`)
    t.same(await index.version(), { ...(await index.version()), passages: 20 })
    t.equal(await index.count(), 20)
  }
  t.equal(await codeOf(put(onlyA, somePassages(1, 60), A)), 'index_invalid')
  t.equal(await codeOf(onlyA.changed(somePassages(1))), 'index_invalid')
  t.equal(await both.count(), 30)

  const late = await opened(t, dir, { model: A }, true)
  t.equal(await codeOf(late.view()), 'index_invalid', 'who has none from before has nothing to answer from')
  await rm(tableFolder(dir, storedAs), { recursive: true, maxRetries: 5 })
  t.equal(await codeOf(found(replica, text)), 'index_invalid', 'once the files are gone the reason is the same')
  await replaced(dir, 'j2', A, somePassages(9))
  await replica.refresh()
  t.equal(replica.behind(), undefined)
  t.equal(await found(replica, text), `${A.id} p7 1.00`)
})

await t.test('a replaced table stays while the model that it was made with is at hand', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir, { model: A })
  await put(index, somePassages(20), A)
  await replaced(dir, 'j1', A, somePassages(20))
  await replaced(dir, 'j2', B, somePassages(20))
  const tables = async () => (await readdir(dir)).filter((name) => name.endsWith('.lance')).sort()
  const all = await tables()
  t.equal(all.length, 3)
  const knownJobs = () => Promise.resolve({ unfinished: new Set<string>(), ended: new Set(['j1', 'j2']) })
  const past = new Date(Date.now() - 120_000)
  for (const name of await readdir(dir)) await utimes(join(dir, name), past, past)
  await removeStale({ dir, table: 'passages' }, knownJobs, [B, A])
  t.same(await tables(), all, 'the tables of the other model may still be read')
  await removeStale({ dir, table: 'passages' }, knownJobs, [B])
  t.same(await tables(), ['passages.j2.lance'])
})

await t.test('a copy keeps to the table that can be searched here, and within its limit', async (t) => {
  const dir = await tempDir(t)
  const [store, copy] = [join(dir, 'store'), join(dir, 'copy')]
  const index = await opened(t, store, { model: A })
  await put(index, somePassages(200), A)
  const follow = (to: string, models: Models, maxBytes = 1e9) =>
    startReplicaCache({ from: store, to, table: 'passages', models, maxBytes, everyMs: 3_600_000 })
  const tablesIn = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith('.lance')).length
  const replicaCache = await follow(copy, { model: A })
  t.teardown(() => replicaCache.close())
  const reader = await opened(t, copy, { model: A }, true)
  t.equal(await reader.count(), 200)
  await replaced(store, 'j1', B, somePassages(150))
  await replicaCache.sync()
  t.match(replicaCache.status(), { trouble: undefined, refused: { code: 'index_invalid', message: new RegExp(B.id) } })
  t.equal(await tablesIn(copy), 1, 'what cannot be searched is not copied')
  await reader.refresh()
  t.equal(await reader.count(), 200)
  const again = await follow(copy, { model: A })
  t.teardown(() => again.close())
  t.match(again.status().refused, { code: 'index_invalid' }, 'nor at the next start')
  const rolled = await follow(copy, { model: B, furtherModels: [A] })
  t.teardown(() => rolled.close())
  t.equal(rolled.status().refused, undefined)
  const both = await opened(t, copy, { model: B, furtherModels: [A] }, true)
  t.equal(await both.count(), 150)

  const other = join(dir, 'other')
  await t.rejects(follow(other, { model: B }, 1000), {
    code: 'disk_full',
    field: 'CEPE_MIRROR_MB',
    message: /alone is larger.*leave CEPE_MIRROR_DIR out/,
  })
  t.equal(await tablesIn(other), 0)
  // One table fits, two of them do not. A table takes 60 kB, and 30 kB more where the engine happens to split its word index.
  const size = 40_000 + (await bytesUnder(tableFolder(store, 'passages.j1')))
  const small = await follow(other, { model: B, furtherModels: [A] }, size)
  t.teardown(() => small.close())
  const limited = await opened(t, other, { model: B, furtherModels: [A] }, true)
  t.equal(await limited.count(), 150)
  await replaced(store, 'j2', B, somePassages(140))
  await small.sync()
  t.match(small.status(), { trouble: undefined, refused: { code: 'disk_full', message: /CEPE_MIRROR_MB.*start this process again/ } })
  await limited.refresh()
  t.equal(await limited.count(), 150, 'what was copied before answers on')
  const started = await follow(other, { model: B }, size)
  t.teardown(() => started.close())
  t.equal(started.status().refused, undefined)
  await limited.refresh()
  t.equal(await limited.count(), 140, 'a start makes room')
  await replaced(store, 'j3', B, somePassages(800))
  await started.sync()
  const kept = await follow(other, { model: B }, size)
  t.teardown(() => kept.close())
  t.match(kept.status().refused, { code: 'disk_full' })
  t.equal(await limited.count(), 140, 'but not by removing the only copy for one that does not fit')
})
