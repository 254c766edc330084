import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { allModels, isBuildOf, passageText, type Embed, type EmbeddingModel } from '../../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { createSnapshot, restoreSnapshot } from '../../../index/snapshots/snapshots.ts'
import { IndexCollections } from '../../../index/collections/collections.ts'
import { createJobs } from '../../../src/jobs/jobs.ts'
import { JobStore } from '../../../src/jobs/record/store.ts'
import { embedderOf, streamed, toTsv } from '../../jobs/helpers.ts'
import { embed, embedText, somePassages, tempDir } from '../helpers.ts'

const origin = '@0123456789ab-f32'
/** Two builds of one checkpoint, whose graphs differ. */
const earlier: EmbeddingModel = { id: `words${origin}-11111111`, dimension: 32, origin }
const later: EmbeddingModel = { id: `renamed${origin}-22222222`, dimension: 32, origin }
const PASSAGES = somePassages(300)

/** As another order of sums changes them: by less than 16-bit floats hold. */
const alike: Embed = async (texts) =>
  (await embed(texts)).map((vector) => vector.map((value, i) => value * (1 + (i % 2 === 0 ? 1e-5 : -1e-5))))
const other: Embed = async (texts) => (await embed(texts)).map((vector) => vector.map((value, i) => (i === 0 ? value + 0.05 : value)))
const longer: Embed = async (texts) => (await embed(texts)).map((vector) => vector.map((value) => value * 1.02))

async function madeBy(t: Test, model: EmbeddingModel): Promise<string> {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model, onWarning: () => undefined })
  await index.upsert(PASSAGES, await embed(PASSAGES.map(passageText)))
  index.close()
  return dir
}

interface Opened {
  readonly index: PassageIndex
  readonly warnings: string[]
  /** Texts that were embedded. */
  readonly texts: string[]
}

async function opened(t: Test, dir: string, how: Embed, options: Partial<Parameters<typeof openIndex>[0]> = {}): Promise<Opened> {
  const [warnings, texts]: [string[], string[]] = [[], []]
  const counted: Embed = (some) => (texts.push(...some), how(some))
  const index = await openIndex({
    dir,
    model: later,
    embedOf: () => counted,
    consistencyMs: 0,
    onWarning: (message) => warnings.push(message),
    ...options,
  })
  t.teardown(() => index.close())
  return { index, warnings, texts }
}

await t.test('a table of an earlier build is adopted if a sample of its vectors is equal, which is said', async (t) => {
  const dir = await madeBy(t, earlier)
  const { index, warnings, texts } = await opened(t, dir, alike)
  t.equal((await index.info()).model, later.id)
  t.match(warnings, [/was embedded by words@0123456789ab-f32-11111111, another build of renamed.*cosine.*1\.0000|0\.9999.*adopted/])
  t.equal(warnings.length, 1)
  t.equal(texts.length, 64)
  t.equal(
    (await index.view().then((view) => view.search(embedText(passageText(PASSAGES[7] ?? { id: '', title: '', text: '' })), { k: 1 })))[0]
      ?.id,
    'p7',
  )
  await index.upsert(somePassages(1, 900), await embed(['new']))
  t.equal(await index.count(), 301)
  const again = await opened(t, dir, alike)
  t.equal(await again.index.count(), 301)
  t.same([again.warnings, again.texts], [[], []], 'compared once')
})

for (const [what, how] of Object.entries({ 'another direction': other, 'another length': longer }))
  await t.test(`vectors of ${what} must be embedded again: nothing is adopted, and they are compared once`, async (t) => {
    const dir = await madeBy(t, earlier)
    const { index, warnings, texts } = await opened(t, dir, how)
    for (let i = 0; i < 3; i++) await t.rejects(index.view(), { code: 'index_invalid', message: /reembed/ })
    t.equal(await index.count(), 300, 'its texts are read')
    t.match(warnings, [/the vectors differ/])
    t.equal(texts.length, 64)
  })

await t.test('only builds of one checkpoint in one precision are compared', async (t) => {
  for (const id of ['words@ffffffffffff-f32-11111111', 'words@0123456789ab-int8-11111111', 'words']) {
    const dir = await madeBy(t, { id, dimension: 32 })
    const { index, texts } = await opened(t, dir, embed)
    await t.rejects(index.view(), { code: 'index_invalid' }, id)
    t.same(texts, [])
  }
  t.ok(isBuildOf(`words${origin}`, later), 'an id of before graphs were part of it')
})

await t.test('a table without passages is adopted, and one in a process that cannot embed is as before', async (t) => {
  const dir = await tempDir(t)
  const collections = new IndexCollections({ main: await openIndex({ dir, model: earlier }) })
  await collections.create('passages')
  collections.close()
  await t.rejects((await opened(t, dir, embed, { embedOf: () => undefined })).index.view(), { code: 'index_invalid' })
  const { index } = await opened(t, dir, embed)
  t.equal((await index.info()).model, later.id)
})

await t.test('a replica compares too, and writes nothing; an earlier build still reads an adopted table', async (t) => {
  const dir = await madeBy(t, earlier)
  const replica = await opened(t, dir, alike, { readOnly: true })
  const before = await readdir(dir, { recursive: true })
  t.equal((await replica.index.view().then((view) => view.search(embedText('lagoon'), { k: 3 }))).length, 3)
  await replica.index.refresh()
  t.equal(replica.texts.length, 64)
  t.same((await readdir(dir, { recursive: true })).sort(), before.sort())
  const { index } = await opened(t, dir, alike)
  await index.view()
  const folder = before.find((name) => /^passages\.[^/]*\.lance$/.test(name)) ?? ''
  const versions = await readdir(join(dir, folder, '_versions'))
  const newest = await readFile(join(dir, folder, '_versions', versions.sort()[0] ?? ''), 'latin1')
  t.ok(newest.includes(earlier.id) && newest.includes(later.id), 'both ids are in its newest version')
})

await t.test('collections, snapshots and unfinished jobs of an earlier build are taken over', async (t) => {
  const dir = await madeBy(t, earlier)
  await createSnapshot('before', { dir, table: 'passages' })
  const first = createJobs({ index: await openIndex({ dir, model: earlier }), embedder: embedderOf(), jobsDir: join(dir, 'jobs') })
  const { id } = await first.addUpload({ bytes: streamed(toTsv(somePassages(50, 1000))), options: {} })
  await first.close()
  const store = new JobStore(join(dir, 'jobs'))
  await store.save({ ...(await store.load(id)), state: 'queued', model: earlier.id })

  const { index } = await opened(t, dir, alike)
  const jobs = createJobs({ index, embedder: embedderOf(), jobsDir: join(dir, 'jobs') })
  t.teardown(() => jobs.close())
  await jobs.start()
  t.match(await jobs.wait(id), { state: 'done' })
  await jobs.close()
  t.equal(await restoreSnapshot('before', { dir, table: 'passages', model: later }), 300)
  await index.refresh()
  t.equal((await index.info()).model, later.id)
  const collections = new IndexCollections({ main: index, embedOf: () => alike, onWarning: () => undefined })
  await (await openIndex({ dir, table: 'other', model: earlier })).upsert(somePassages(3), await embed(['a', 'b', 'c']))
  t.match(await collections.describe(['other']), [{ state: 'ready' }])
  t.same(allModels({ model: later }), [later])
})
