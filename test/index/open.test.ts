import { cp, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { connectLance } from '../../index/table/lance.ts'
import { openIndex } from '../../index/open.ts'
import { createSnapshot } from '../../index/snapshots/snapshots.ts'
import { passageText } from '../../index/contract.ts'
import { dot, embed, embedText, hashEmbedding, somePassages, tempDir } from './helpers.ts'

async function open(t: Parameters<typeof tempDir>[0], dir?: string) {
  const index = await openIndex({ dir: dir ?? (await tempDir(t)), model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

function vectorsOf(passages: ReturnType<typeof somePassages>) {
  return embed(passages.map(passageText))
}

await t.test('an index without a table says so, and the first upsert makes it', async (t) => {
  const index = await open(t)
  await t.rejects(
    index.view().then((view) => view.search(embedText('x'), { k: 1 })),
    { code: 'index_missing' },
  )
  await t.rejects(index.delete(['x']), { code: 'index_missing' })
  const passages = somePassages(50)
  await index.upsert(passages, await vectorsOf(passages))
  t.equal(await index.count(), 50)
  t.match(await index.info(), {
    table: 'passages',
    rows: 50,
    dimension: 32,
    model: hashEmbedding.id,
    kind: 'exact',
    nprobes: 0,
    recall: null,
    questionRecall: null,
    unindexedRows: 50,
  })
})

await t.test('search ranks by the exact dot product', async (t) => {
  const index = await open(t)
  const passages = somePassages(200)
  const vectors = await vectorsOf(passages)
  await index.upsert(passages, vectors)
  const question = embedText('which lagoon is near the summit')
  const hits = await index.view().then((view) => view.search(question, { k: 10 }))
  const expected = vectors
    .map((vector) => dot(vector, question))
    .sort((a, b) => b - a)
    .slice(0, 10)
  t.same(
    hits.map((hit) => hit.rank),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
  for (const [i, hit] of hits.entries()) {
    const passage = passages.find((one) => one.id === hit.id)
    t.match(hit, passage ?? {})
    t.ok(Math.abs(hit.score - (expected[i] ?? 0)) < 1e-3, `score ${hit.score} is the dot product ${expected[i]}`)
  }
})

await t.test('filters keep to their fields and quote their values', async (t) => {
  const index = await open(t)
  const passages = [...somePassages(20), { id: 'quote', title: "Rock 'n' roll", text: 'music', source: "o'clock" }]
  await index.upsert(passages, await vectorsOf(passages))
  const odd = await index.view().then((view) => view.search(embedText('river'), { k: 100, filter: { source: 'odd.tsv' } }))
  t.equal(odd.length, 10)
  t.ok(odd.every((hit) => hit.source === 'odd.tsv'))
  const quoted = await index
    .view()
    .then((view) => view.search(embedText('music'), { k: 5, filter: { source: ["o'clock"], title: "Rock 'n' roll" } }))
  t.same(
    quoted.map((hit) => hit.id),
    ['quote'],
  )
  t.same(await index.view().then((view) => view.search(embedText('music'), { k: 5, filter: { source: "x' OR 'a' = 'a" } })), [])
  t.equal(await index.count({ source: 'even.tsv' }), 10)
})

await t.test('upserts replace by id, reads and deletes find what they should', async (t) => {
  const index = await open(t)
  const passages = somePassages(10)
  await index.upsert(passages, await vectorsOf(passages))
  const changed = { id: 'p3', title: 'New', text: 'entirely new words' }
  await index.upsert([changed], await vectorsOf([changed]))
  t.equal(await index.count(), 10)
  t.same(await index.get('p3'), changed)
  t.equal(await index.get('p99'), undefined)
  t.equal((await index.view().then((view) => view.search(embedText('entirely new words'), { k: 1 })))[0]?.id, 'p3')
  t.equal(await index.delete(['p3', 'p4', 'nothing']), 2)
  t.equal(await index.delete({ source: 'even.tsv' }), 4)
  t.equal(await index.count(), 4)
  await t.rejects(index.delete({}), { code: 'invalid_request' })
})

await t.test('bad vectors are refused before anything is written', async (t) => {
  const index = await open(t)
  const [passage] = somePassages(1)
  if (passage === undefined) return
  const nan = embedText('x')
  nan[5] = NaN
  const huge = embedText('x')
  huge[6] = 1e6
  await t.rejects(index.upsert([passage], [nan]), { code: 'index_invalid', message: /"p0".*NaN at position 5/ })
  await t.rejects(index.upsert([passage], [huge]), { code: 'index_invalid', message: /1000000 at position 6/ })
  await t.rejects(index.upsert([passage], [new Float32Array(31)]), { code: 'index_invalid', message: /31 numbers/ })
  await t.rejects(index.upsert([passage], []), { code: 'index_invalid' })
  await t.rejects(index.upsert([passage, passage], [embedText('x'), embedText('x')]), { code: 'invalid_request', message: /twice/ })
  await t.rejects(
    index.view().then((view) => view.search(new Float32Array(3), { k: 1 })),
    { code: 'index_invalid' },
  )
  await t.rejects(
    index.view().then((view) => view.search(embedText('x'), { k: 0 })),
    { code: 'invalid_request' },
  )
})

await t.test('many small upserts are tidied up', async (t) => {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model: hashEmbedding, compactAfter: 5, consistencyMs: 0 })
  t.teardown(() => index.close())
  for (const passage of somePassages(10)) await index.upsert([passage], await vectorsOf([passage]))
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await connection.openTable((await index.info()).storedAs)
  // The test's own time limit is the only one.
  while ((await table.stats()).fragmentStats.numFragments > 7) await sleep(10)
  t.equal(await index.count(), 10)
})

await t.test('another model cannot open the table', async (t) => {
  const dir = await tempDir(t)
  const first = await open(t, dir)
  const passages = somePassages(3)
  await first.upsert(passages, await vectorsOf(passages))
  const other = await openIndex({ dir, model: { id: 'other-model', dimension: 32 } })
  t.teardown(() => other.close())
  await t.rejects(
    other.view().then((view) => view.search(embedText('x'), { k: 1 })),
    { code: 'index_invalid', message: /hashed-words-32.*other-model.*reembed/ },
  )
})

await t.test('a second handle sees commits without being opened again', async (t) => {
  const dir = await tempDir(t)
  const [writer, reader] = [await open(t, dir), await open(t, dir)]
  const passages = somePassages(4)
  const vectors = await vectorsOf(passages)
  await writer.upsert(passages.slice(0, 2), vectors.slice(0, 2))
  t.equal(await reader.count(), 2)
  await writer.upsert(passages.slice(2), vectors.slice(2))
  t.equal(await reader.count(), 4)
})

await t.test('words are found in text and title, and fused with vectors', async (t) => {
  const index = await open(t)
  const passages = [...somePassages(30), { id: 'gala', title: 'Gala', text: 'A festive evening with music.' }]
  await index.upsert(passages, await vectorsOf(passages))
  t.equal((await index.view().then((view) => view.searchText('festive evening', { k: 3 })))[0]?.id, 'gala')
  t.equal((await index.view().then((view) => view.searchText('gala', { k: 3 })))[0]?.id, 'gala')
  const hybrid = await index.view().then((view) => view.searchHybrid('festive evening', embedText('festive evening'), { k: 3 }))
  t.equal(hybrid[0]?.id, 'gala')
  t.same(
    hybrid.map((hit) => hit.rank),
    [1, 2, 3],
  )
})

await t.test('an index whose table is gone or damaged opens, says so, and heals when it is replaced', async (t) => {
  const dir = await tempDir(t)
  const first = await open(t, dir)
  await first.upsert(somePassages(3), await vectorsOf(somePassages(3)))
  const { storedAs } = await first.info()
  await rename(join(dir, `${storedAs}.lance`), join(dir, 'moved'))
  const warnings: string[] = []
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, onWarning: (message) => warnings.push(message) })
  t.teardown(() => index.close())
  t.match(warnings[0], /_versions of passages\..+\.lance \(named by an alias: .+\) is missing/)
  await t.rejects(
    index.view().then((view) => view.search(embedText('x'), { k: 1 })),
    { code: 'index_invalid', message: /restore it/ },
  )
  await rename(join(dir, 'moved'), join(dir, `${storedAs}.lance`))
  t.equal(await index.count(), 3)
  await writeFile(join(dir, 'passages.alias.json'), '{"stored')
  await t.rejects((await open(t, dir)).count(), { code: 'index_invalid', message: /passages\.alias\.json is damaged/ })
})

await t.test('a lost alias is named: nothing is read, written or begun anew, and its file put back heals all', async (t) => {
  const dir = await tempDir(t)
  const first = await open(t, dir)
  await first.upsert(somePassages(3), await vectorsOf(somePassages(3)))
  const { storedAs } = await first.info()
  const alias = join(dir, 'passages.alias.json')
  const losses = {
    removed: () => rm(alias),
    link: async () => {
      await rm(alias)
      await symlink(join(dir, 'unmounted', 'alias.json'), alias)
    },
    folder: async () => {
      await rm(alias)
      await mkdir(alias)
    },
    swapped: () => writeFile(alias, '{"stored_as": "towns.0a1b2c3d"}'),
  }
  const code = { removed: 'index_invalid', link: 'store_unavailable', folder: 'store_unavailable', swapped: 'index_invalid' }
  for (const how of ['removed', 'link', 'folder', 'swapped'] as const) {
    await losses[how]()
    const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0, onWarning: () => undefined })
    t.teardown(() => index.close())
    const why = { code: code[how], message: /passages\.alias\.json/ }
    await t.rejects(index.count(), why, how)
    await t.rejects(index.upsert(somePassages(1, 9), await vectorsOf(somePassages(1, 9))), why, how)
    await t.rejects(index.delete(['p1']), why, how)
    if (how === 'removed') await t.rejects(index.count(), { message: `{"stored_as": "${storedAs}"}` })
    await rm(alias, { recursive: true, force: true })
    await writeFile(alias, `{"stored_as": "${storedAs}"}`)
    t.equal(await index.count(), 3, how)
  }
})

await t.test('an index that takes the place of the served one is neither read nor changed; the same one, mounted again, is', async (t) => {
  const [dir, other] = [join(await tempDir(t), 'index'), join(await tempDir(t), 'index')]
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  await index.upsert(somePassages(3), await vectorsOf(somePassages(3)))
  const another = await openIndex({ dir: other, model: hashEmbedding })
  await another.upsert(somePassages(1, 9), await vectorsOf(somePassages(1, 9)))
  another.close()
  await rename(dir, `${dir}.away`)
  await rename(other, dir)
  const gone = { code: 'index_missing', message: /mount the folder again.*a process that is started now takes the folder as it is/ }
  await t.rejects(
    index.refresh().then(() => index.count()),
    gone,
  )
  for (let round = 0; round < 2; round++) {
    await t.rejects(index.get('p9'), gone)
    await t.rejects(index.upsert(somePassages(1, 5), await vectorsOf(somePassages(1, 5))), gone)
    await t.rejects(index.delete(['p9']), gone)
    await t.rejects(createSnapshot('one', { dir, table: 'passages' }), gone)
  }
  await rename(dir, other)
  // As another mount: a copy, of other inodes.
  await cp(`${dir}.away`, dir, { recursive: true })
  t.equal(await index.count(), 3)
  await index.upsert(somePassages(1, 5), await vectorsOf(somePassages(1, 5)))
  t.equal(await index.count(), 4)
})

await t.test('after refresh a read sees what another process wrote, however seldom it looks by itself', async (t) => {
  const writer = await open(t)
  const first = somePassages(3)
  await writer.upsert(first, await vectorsOf(first))
  const reader = await openIndex({ dir: writer.dir, model: hashEmbedding, consistencyMs: 600_000 })
  t.teardown(() => reader.close())
  t.equal(await reader.count(), 3)
  const more = somePassages(2, 3)
  await writer.upsert(more, await vectorsOf(more))
  t.equal(await reader.count(), 3, 'not yet')
  await reader.refresh()
  t.equal(await reader.count(), 5)
})
