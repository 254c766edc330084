import { appendFile, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { filesUnder } from '../../../base/files.ts'
import { compactionCommand } from '../../../index/compaction/compact.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { startReplicaCache } from '../../../index/replica/replica-cache.ts'
import { createSnapshot, restoreSnapshot, verifyIndex } from '../../../index/snapshots/snapshots.ts'
import { readChecksums } from '../../../index/table/checksums.ts'
import { TableSync } from '../../../index/table/table-sync.ts'
import { readAlias, tableFolder } from '../../../index/versions/alias.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'

async function opened(t: Test, dir: string): Promise<PassageIndex> {
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

async function put(index: PassageIndex, passages: readonly Passage[]): Promise<void> {
  await index.upsert(passages, await embed(passages.map(passageText)))
}

async function liveFolder(dir: string): Promise<string> {
  return tableFolder(dir, (await readAlias({ dir, table: 'passages' })) ?? '')
}

/** Files of a folder of the live table, the newest first. */
async function filesOf(dir: string, name: string): Promise<string[]> {
  const files = await filesUnder(join(await liveFolder(dir), name))
  const aged = await Promise.all(files.map(async (file) => ({ file, at: (await stat(file)).mtimeMs })))
  return aged.sort((a, b) => b.at - a.at).map(({ file }) => file)
}

/** Turns four bytes in the middle of a file over, in place. */
async function flip(path: string): Promise<void> {
  const file = await open(path, 'r+')
  const at = Math.floor((await file.stat()).size / 2)
  const bytes = Buffer.alloc(4)
  await file.read(bytes, 0, 4, at)
  await file.write(
    bytes.map((byte) => byte ^ 0xff),
    0,
    4,
    at,
  )
  await file.close()
}

await t.test('flipped bytes are found, and the last intact snapshot is named and can be restored', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(200))
  await createSnapshot('good', index)
  await put(index, somePassages(100, 200))
  await createSnapshot('later', index)
  const before = await verifyIndex(index)
  t.match(before, { passages: 300, recorded: 0 })
  t.ok(before.files >= 2)
  const [newest = ''] = await filesOf(dir, 'data')
  await flip(newest)
  await t.rejects(verifyIndex(index), {
    code: 'index_invalid',
    message: /data\/.*\.lance of the table "passages" has changed .* "good": cepe index snapshot restore good --collection passages/,
  })
  const options = { dir, table: 'passages', model: hashEmbedding }
  await t.rejects(restoreSnapshot('later', options), { code: 'index_invalid', message: /of the snapshot "later" .* "good"/ })
  t.equal(await index.count(), 300, 'nothing was put in its place')
  t.equal(await restoreSnapshot('good', options), 200)
  t.match(await verifyIndex(index), { passages: 200, recorded: 0 })
  for (const file of await filesOf(dir, 'data')) await flip(file)
  await t.rejects(verifyIndex(index), { code: 'index_invalid', message: /No snapshot of the table is intact/ })
})

await t.test('jobs, deletes, compaction and indexes: every file has a checksum when they end', async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', somePassages(600))
  await run(dir, 'j1', { replace: true })
  t.match(await verifyIndex({ dir, table: 'passages' }), { passages: 600, recorded: 0 })
  await planned(dir, 'j2', somePassages(300, 600))
  await run(dir, 'j2', { replace: false })
  const index = await opened(t, dir)
  await index.delete(['p1', 'p2'])
  await put(index, somePassages(3, 2000))
  t.match(await verifyIndex(index), { passages: 901, recorded: 0 })
  await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false })
  t.match(await verifyIndex(index), { passages: 901, recorded: 0 })
  const indexes = await filesOf(dir, '_indices')
  t.ok(indexes.length > 0)
  await flip(indexes[0] ?? '')
  await t.rejects(verifyIndex(index), { code: 'index_invalid', message: /_indices\// })
})

await t.test('a file is read once: not by a later commit, and not by another process', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(50))
  const folder = await liveFolder(dir)
  const lines = async () => [...(await readChecksums(folder)).values()].flatMap((sums) => [...sums]).length
  const first = await lines()
  const lists = await readdir(join(folder, '_checksums'))
  await TableSync.distrusting(folder).flush()
  t.equal(await lines(), first, 'another process finds them recorded')
  t.same(await readdir(join(folder, '_checksums')), lists)
  // Were it read again, its other checksum would be recorded beside the first.
  const [data = ''] = await filesOf(dir, 'data')
  await flip(data)
  await put(index, somePassages(1, 50))
  await TableSync.distrusting(folder).flushWithChecksums()
  t.equal((await readChecksums(folder)).get(`data/${data.split('/').at(-1)}`)?.size, 1)
})

await t.test('a table of software without checksums gets them when it is verified; a line that was cut off is no checksum', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(50))
  const folder = await liveFolder(dir)
  await rm(join(folder, '_checksums'), { recursive: true })
  const { recorded } = await verifyIndex(index)
  t.ok(recorded > 0)
  const [list = ''] = await readdir(join(folder, '_checksums'))
  await appendFile(join(folder, '_checksums', list), '\n{"file": "data/a.lance", "sha2')
  t.match(await verifyIndex(index), { passages: 50, recorded: 0 })
  const [data = ''] = await filesOf(dir, 'data')
  await flip(data)
  await t.rejects(verifyIndex(index), { code: 'index_invalid' })
})

await t.test('a replica does not take a file that has changed', async (t) => {
  const dir = await tempDir(t)
  const [store, copy] = [join(dir, 'store'), join(dir, 'copy')]
  const index = await opened(t, store)
  await put(index, somePassages(50))
  const replicaCache = await startReplicaCache({ from: store, to: copy, table: 'passages', everyMs: 3_600_000 })
  t.teardown(() => replicaCache.close())
  await put(index, somePassages(50, 50))
  const [data = ''] = await filesOf(store, 'data')
  await flip(data)
  await t.rejects(replicaCache.sync(), { code: 'index_invalid', message: /cepe index verify/ })
  t.match(replicaCache.status(), { trouble: /has changed since it was committed/ })
  await flip(data)
  await replicaCache.sync()
  const reader = await openIndex({ dir: copy, model: hashEmbedding, consistencyMs: 0, readOnly: true })
  t.teardown(() => reader.close())
  t.equal(await reader.count(), 100)
})

await t.test('a reader records no checksum, and the next writer records it', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await put(index, somePassages(20))
  const lists = join(await liveFolder(dir), '_checksums')
  await rm(lists, { recursive: true })
  const found = await verifyIndex(index, undefined, true)
  t.match(found, { passages: 20, recorded: 0 })
  t.ok(found.unrecorded > 0)
  await t.rejects(stat(lists), { code: 'ENOENT' })
  t.match(await verifyIndex(index), { recorded: found.unrecorded, unrecorded: 0 })
})
