import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, cp, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { switchTable } from '../../../index/snapshots/replace.ts'
import { createSnapshot, deleteSnapshot, listSnapshots, restoreSnapshot } from '../../../index/snapshots/snapshots.ts'
import { readAlias, tableFolder } from '../../../index/versions/alias.ts'
import { watchChanges } from '../../../index/writers/change-log.ts'
import { tryJobLock } from '../../../index/writers/locks.ts'
import { compactTable } from '../../../index/compaction/compact.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { TableSync } from '../../../index/table/table-sync.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

type Test = Parameters<typeof tempDir>[0]

async function opened(t: Test, dir: string, table = 'passages'): Promise<PassageIndex> {
  const index = await openIndex({ dir, table, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

async function put(index: PassageIndex, passages: readonly Passage[]): Promise<void> {
  await index.upsert(passages, await embed(passages.map(passageText)))
}

async function all(index: PassageIndex): Promise<Passage[]> {
  await index.refresh()
  return index.list({ limit: 1000 })
}

function sorted(passages: readonly Passage[]): Passage[] {
  return [...passages].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Rewrites every file of the live table and removes the ones before. */
async function rewrite(dir: string): Promise<void> {
  const connection = await connectLance(dir, 0)
  const storedAs = (await readAlias({ dir, table: 'passages' })) ?? ''
  await compactTable(await connection.openTable(storedAs), await TableSync.start(tableFolder(dir, storedAs)), 0, 1)
  connection.close()
}

const MODEL = { model: hashEmbedding }

await t.test('a snapshot keeps the table whatever happens to it, costs nothing at first, and can be gone back to', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  const first = somePassages(200).map((passage) => ({ ...passage, metadata: { kept: true } }))
  await put(index, first)
  t.match(await createSnapshot('before', index), { name: 'before', table: 'passages', rows: 200, model: hashEmbedding.id })
  const [fresh] = await listSnapshots(index)
  const folder = join(dir, 'passages.snapshots', 'before')
  const whole = await sizeOf(folder)
  t.ok((fresh?.bytes ?? whole) < whole / 2, `${fresh?.bytes} of ${whole} bytes are its own: manifest and record`)
  await index.delete(first.slice(0, 150).map(({ id }) => id))
  await put(index, [{ id: 'p199', title: 'new', text: 'another text' }, ...somePassages(20, 500)])
  await rewrite(dir)
  const [kept] = await listSnapshots(index)
  t.ok((kept?.bytes ?? 0) > whole / 2, 'what the live table has replaced is its own now')
  await createSnapshot('after', index)
  const changeLog = await all(index)
  t.equal(changeLog.length, 70)
  t.equal(await restoreSnapshot('before', { ...MODEL, dir, table: 'passages' }), 200)
  t.same(await all(index), sorted(first), 'the open index follows')
  t.same((await index.view().then((view) => view.search(embedText(passageText(first[7] as Passage)), { k: 1 })))[0]?.id, 'p7')
  await put(index, [{ id: 'new', title: '', text: 'written to the restored table' }])
  await index.delete(['p0'])
  t.equal(await restoreSnapshot('after', { ...MODEL, dir, table: 'passages' }), 70)
  t.same(await all(index), changeLog)
  t.equal(await restoreSnapshot('before', { ...MODEL, dir, table: 'passages' }), 200)
  t.same(await all(index), sorted(first), 'writing to a restored table did not touch the snapshot')
  t.same(
    (await listSnapshots(index)).map(({ name }) => name),
    ['before', 'after'],
  )
  await deleteSnapshot('before', index)
  t.same(
    (await listSnapshots(index)).map(({ name }) => name),
    ['after'],
  )
  t.same(await all(index), sorted(first), 'the live table has its files still')
})

await t.test('names, jobs at work and other models stand in the way, and say so', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await t.rejects(createSnapshot('one', index), { code: 'index_missing' })
  await put(index, somePassages(3))
  await createSnapshot('one', index)
  await t.rejects(createSnapshot('one', index), { code: 'conflict', field: 'name' })
  for (const name of ['', '..', '../x', 'a/b', '.hidden', 'x'.repeat(65)]) {
    await t.rejects(createSnapshot(name, index), { code: 'invalid_request', field: 'name' }, name)
    await t.rejects(restoreSnapshot(name, { ...MODEL, dir, table: 'passages' }), { code: 'invalid_request' })
    await t.rejects(deleteSnapshot(name, index), { code: 'invalid_request' })
  }
  await t.rejects(restoreSnapshot('none', { ...MODEL, dir, table: 'passages' }), { code: 'not_found' })
  await t.rejects(deleteSnapshot('none', index), { code: 'not_found' })
  const other = { id: 'another-model', dimension: 32 }
  await t.rejects(switchTable('passages', { dir, table: 'third', model: other }), { code: 'index_invalid', message: /another-model/ })
  const tables = (await readdir(dir)).filter((name) => name.endsWith('.lance'))
  t.equal(tables.length, 1, 'what was made in vain is gone')
  await watchChanges({ dir, table: 'passages' }, '20261122T000000000-abcd')
  await t.rejects(restoreSnapshot('one', { ...MODEL, dir, table: 'passages' }), {
    code: 'conflict',
    message: /20261122T000000000-abcd.*cancel/,
  })
  t.equal((await all(index)).length, 3)
})

await t.test('a name can answer with what another table holds, and each goes its own way from then on', async (t) => {
  const dir = await tempDir(t)
  const live = await opened(t, dir)
  await put(live, somePassages(5))
  const blue = await opened(t, dir, 'blue')
  await put(blue, somePassages(7, 100))
  t.equal(await switchTable('blue', { ...MODEL, dir, table: 'passages' }), 7)
  t.same(await all(live), sorted(somePassages(7, 100)))
  await put(live, somePassages(1, 300))
  await blue.delete(['p100'])
  t.equal((await all(live)).length, 8)
  t.equal((await all(blue)).length, 6)
  await t.rejects(switchTable('green', { ...MODEL, dir, table: 'passages' }), { code: 'index_missing' })
  await t.rejects(switchTable('passages', { ...MODEL, dir, table: 'passages' }), { code: 'invalid_request' })
})

await t.test('writers that go on while snapshots are taken: each snapshot is one state of the table', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(20))
  let going = true
  const writing = (async () => {
    // Each write moves all passages to the next round at once.
    for (let round = 1; going; round++)
      await put(
        index,
        somePassages(20).map((passage) => ({ ...passage, title: `round ${round}` })),
      )
  })()
  for (let i = 0; i < 5; i++) await createSnapshot(`s${i}`, index)
  going = false
  await writing
  for (let i = 0; i < 5; i++) {
    await restoreSnapshot(`s${i}`, { ...MODEL, dir, table: 'passages' })
    const titles = new Set((await all(index)).map(({ title }) => title))
    t.ok((await index.count()) === 20 && (titles.size === 1 || i === 0), `s${i}: ${[...titles].slice(0, 3).join()}`)
  }
})

await t.test('killed at any moment, restoring leaves one table or the other, whole', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  const [one, two] = [somePassages(300), somePassages(200, 1000)]
  await put(index, one)
  await createSnapshot('one', index)
  await index.delete(one.map(({ id }) => id))
  await put(index, two)
  await createSnapshot('two', index)
  const script = `
    const { createSnapshot, deleteSnapshot, restoreSnapshot } = await import('./dist/index/snapshots/snapshots.js')
    const options = { dir: ${JSON.stringify(dir)}, table: 'passages', model: { id: 'hashed-words-32', dimension: 32 } }
    process.stdout.write('ready')
    for (let i = 0; ; i++) {
      await restoreSnapshot(i % 2 === 0 ? 'one' : 'two', options)
      await createSnapshot('more', options).catch((error) => { if (error.code !== 'conflict') throw error })
      await deleteSnapshot('more', options)
    }`
  let seen = 0
  // On a busy machine a restore may take longer than the first eight wait.
  for (let kill = 0; kill < 8 || (seen === 0 && kill < 30); kill++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    t.equal(child.exitCode, null, said)
    await sleep(((kill * 137) % 500) + Math.max(0, kill - 7) * 100)
    child.kill('SIGKILL')
    if (child.signalCode === null) await once(child, 'exit')
    t.equal(said, '', `kill ${kill}`)
    const found = await all(index)
    const state = found.length === one.length ? one : two
    t.same(found, sorted(state), `after kill ${kill} the table is whole`)
    if (state === one) seen++
    const names = (await listSnapshots(index)).map(({ name }) => name)
    t.same(
      names.filter((name) => name !== 'more'),
      ['one', 'two'],
    )
  }
  t.ok(seen > 0, 'some of the kills came after a restore')
  await put(index, somePassages(1, 5000))
  t.equal(await restoreSnapshot('two', { ...MODEL, dir, table: 'passages' }), 200)
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
})

await t.test('a snapshot whose record is lost or damaged is listed from its table, restored and deleted', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(3))
  const damages: Readonly<Record<string, (record: string) => Promise<unknown>>> = {
    gone: (record) => rm(record),
    other: (record) => writeFile(record, '{}'),
    cut: (record) => writeFile(record, '{"name": "o'),
    folder: (record) => rm(record).then(() => mkdir(record)),
    link: (record) => rm(record).then(() => symlink(join(dir, 'none'), record)),
  }
  await createSnapshot('sound', index)
  for (const [name, damage] of Object.entries(damages)) {
    await createSnapshot(name, index)
    await damage(join(dir, 'passages.snapshots', name, 'snapshot.json'))
    const found = await listSnapshots(index)
    t.same(found.map((one) => one.name).sort(), [name, 'sound'].sort())
    const made = found.find((one) => one.name === name)
    t.match(made, { rows: 3, model: hashEmbedding.id, table: 'passages' })
    t.ok(Math.abs(Date.parse(made?.created_at ?? '') - Date.now()) < 60_000)
    t.equal(await restoreSnapshot(name, { ...MODEL, dir, table: 'passages' }), 3)
    await deleteSnapshot(name, index)
    t.same(
      (await listSnapshots(index)).map((one) => one.name),
      ['sound'],
    )
  }
  await t.rejects(deleteSnapshot('gone', index), { code: 'not_found' })
})

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  return bytes
}

await t.test(
  'a snapshot that was copied from another collection is neither listed nor restored, a record of another one not believed',
  async (t) => {
    const dir = await tempDir(t)
    const [index, rivers] = [await opened(t, dir), await opened(t, dir, 'rivers')]
    await put(index, somePassages(5))
    await put(rivers, somePassages(3, 10))
    await createSnapshot('one', { dir, table: 'passages' })
    await createSnapshot('other', { dir, table: 'rivers' })
    const at = (...names: string[]) => join(dir, ...names)
    await cp(at('rivers.snapshots', 'other'), at('passages.snapshots', 'other'), { recursive: true })
    const message = /recorded as one of the collection "rivers", not of "passages": move it there/
    const [foreign, own, ...more] = await listSnapshots({ dir, table: 'passages' })
    t.match(foreign, { name: 'other', created_at: null, rows: null, model: null, problem: { code: 'index_invalid', message } })
    t.match(own, { name: 'one', rows: 5, problem: undefined })
    t.same(more, [])
    await t.rejects(restoreSnapshot('other', { dir, table: 'passages', ...MODEL }), { code: 'index_invalid', message })
    await deleteSnapshot('other', { dir, table: 'passages' })
    t.same(await all(index), somePassages(5))
    // A record of another snapshot of the collection.
    await put(index, somePassages(2, 5))
    await createSnapshot('two', { dir, table: 'passages' })
    await copyFile(at('passages.snapshots', 'one', 'snapshot.json'), at('passages.snapshots', 'two', 'snapshot.json'))
    const listed = await listSnapshots({ dir, table: 'passages' })
    t.same(Object.fromEntries(listed.map(({ name, rows }) => [name, rows])), { one: 5, two: 7 })
  },
)

await t.test('a snapshot that another process deletes in between is not found, and not damaged', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(200))
  const gone = { code: 'not_found', message: 'There is no snapshot "s": cepe index snapshot list --collection passages lists them.' }
  const seen = new Set<string>()
  for (let round = 0; round < 12; round++) {
    await createSnapshot('s', index)
    const deleting = sleep(round * 2).then(() => Promise.allSettled([deleteSnapshot('s', index), deleteSnapshot('s', index)]))
    const results = await Promise.allSettled([restoreSnapshot('s', { ...MODEL, dir, table: 'passages' }), listSnapshots(index)])
    for (const one of [...results, ...(await deleting)]) {
      if (one.status === 'rejected') t.match(one.reason, gone)
      seen.add(one.status)
    }
    t.same(await listSnapshots(index), [])
    t.equal(await index.count(), 200, 'nothing of the table is lost')
  }
  t.ok(seen.has('rejected'), 'some came too late')
})

await t.test('a restore waits for what holds the lock of jobs for a moment', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(3))
  await createSnapshot('s', index)
  const lock = await tryJobLock(dir)
  const restored = restoreSnapshot('s', { ...MODEL, dir, table: 'passages' })
  await sleep(1000)
  await lock?.release()
  t.equal(await restored, 3)
})
