import t, { type Test } from 'tap'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { filesUnder } from '../../../base/files.ts'
import { cleanTable, compactionCommand, orLater } from '../../../index/compaction/compact.ts'
import { passageText } from '../../../index/contract.ts'
import { contentHash } from '../../../index/hash.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { switchTable } from '../../../index/snapshots/replace.ts'
import { createSnapshot, verifyIndex } from '../../../index/snapshots/snapshots.ts'
import { connectLance, type Table } from '../../../index/table/lance.ts'
import { packVectors } from '../../../index/table/rows.ts'
import { deleteRows, mergeRows } from '../../../index/table/write.ts'
import { updateIndexes } from '../../../index/search/update-indexes.ts'
import { TableSync } from '../../../index/table/table-sync.ts'
import { readinessOf } from '../../../src/service/health.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

/** What can happen to a file, whose size is given. */
const DAMAGES: Readonly<Record<string, (file: string, bytes: number) => Promise<void>>> = {
  'one byte short': (file, bytes) => truncate(file, bytes - 1),
  empty: (file) => truncate(file, 0),
  zeros: (file, bytes) => writeFile(file, Buffer.alloc(bytes)),
  gone: (file) => rm(file),
}

/** Each writes a version with a new file of that folder. */
const WRITES: Readonly<Record<string, (table: Table) => Promise<unknown>>> = {
  data: async (table) => merge(table, 40, 30),
  _deletions: (table) => deleteRows(table, ['p3']),
  _indices: (table) => updateIndexes(table, 40, { exactBelow: 0, keepMs: 600_000 }),
  _versions: (table) => table.update({ where: "id = 'none'", values: { title: '' } }),
}

async function merge(table: Table, first: number, count: number): Promise<unknown> {
  const passages = somePassages(count, first)
  const halves = packVectors(passages, await embed(passages.map(passageText)), hashEmbedding.dimension)
  return mergeRows(table, { passages, hashes: passages.map(contentHash), halves }, hashEmbedding.dimension)
}

interface Opened {
  readonly index: PassageIndex
  readonly warnings: string[]
}

/** Opens the index as a starting process does. */
async function opened(t: Test, dir: string): Promise<Opened> {
  const warnings: string[] = []
  const index = await openIndex({ dir, model: hashEmbedding, compactAfter: 1e6, onWarning: (message) => warnings.push(message) })
  t.teardown(() => index.close())
  return { index, warnings }
}

/** A table of forty acknowledged passages, with a snapshot. @returns its folder */
async function madeIn(t: Test, dir: string): Promise<string> {
  const { index } = await opened(t, dir)
  const passages = somePassages(40)
  await index.upsert(passages, await embed(passages.map(passageText)))
  await createSnapshot('good', index)
  index.close()
  const [name = ''] = (await readdir(dir)).filter((entry) => entry.endsWith('.lance'))
  return join(dir, name)
}

/** Writes a version, durable or not, and returns the file that it added to a folder. */
async function written(dir: string, folder: string, into: string, acknowledged: boolean): Promise<string> {
  const before = new Set(await filesUnder(join(folder, into)))
  const connection = await connectLance(dir, 0)
  const table = await connection.openTable(basename(folder, '.lance'))
  const sync = await TableSync.start(folder)
  await WRITES[into]?.(table)
  if (acknowledged) await sync.flushWithChecksums()
  connection.close()
  const added = (await filesUnder(join(folder, into))).filter((file) => !before.has(file))
  const aged = await Promise.all(added.map(async (file) => ({ file, at: (await stat(file)).mtimeMs })))
  return aged.sort((a, b) => b.at - a.at)[0]?.file ?? ''
}

const manifestsIn = async (folder: string): Promise<string[]> => (await readdir(join(folder, '_versions'))).sort()

for (const into of Object.keys(WRITES))
  for (const [how, damage] of Object.entries(DAMAGES))
    await t.test(`an acknowledged version is not rolled back: a file of ${into} is ${how}`, async (t) => {
      const dir = await tempDir(t)
      const folder = await madeIn(t, dir)
      const file = await written(dir, folder, into, true)
      t.match(await verifyIndex({ dir, table: 'passages' }), { recorded: 0 })
      await damage(file, (await stat(file)).size)
      const manifests = await manifestsIn(folder)
      const { index, warnings } = await opened(t, dir)
      const expected = {
        code: 'index_invalid',
        message:
          /is missing, incomplete or changed\. The last intact snapshot is "good": cepe index snapshot restore good --collection passages/,
      }
      const [passage] = somePassages(1, 500)
      if (passage === undefined) throw new Error('no passage')
      await t.rejects(index.view(), expected)
      await t.rejects(index.upsert([passage], await embed(['x'])), expected)
      await t.rejects(index.delete(['p1']), expected)
      await t.rejects(verifyIndex({ dir, table: 'passages' }), expected)
      if (into !== '_versions') await t.rejects(createSnapshot('bad', { dir, table: 'passages' }), expected)
      await t.rejects(switchTable('passages', { dir, table: 'copy', model: hashEmbedding }), expected)
      t.same(await manifestsIn(folder), manifests, 'nothing is moved')
      t.notOk((await readdir(folder)).includes('_quarantine'))
      t.notMatch(warnings, /power loss/)
    })

await t.test('a table whose newest manifest has a changed byte is not served: an index or rows could be left out', async (t) => {
  const dir = await tempDir(t)
  const file = await written(dir, await madeIn(t, dir), '_versions', true)
  const whole = await readFile(file)
  for (let at = 0; at < whole.length; at += 29) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ 4
    await writeFile(file, bytes)
    const { index, warnings } = await opened(t, dir)
    const message = `_versions/${basename(file)} of the table "passages" is missing, incomplete or changed. The last intact snapshot is "good": cepe index snapshot restore good --collection passages.`
    await t.rejects(index.view(), { code: 'index_invalid', message }, `byte ${at}`)
    t.same(warnings, [message])
    await t.rejects(createSnapshot('bad', { dir, table: 'passages' }), { message })
    index.close()
  }
  await writeFile(file, whole)
  t.equal(await (await opened(t, dir)).index.count(), 40)
})

for (const into of Object.keys(WRITES))
  for (const [how, damage] of Object.entries(DAMAGES)) {
    // Without a manifest nothing shows that the version was written.
    if (into === '_versions' && how === 'gone') continue
    await t.test(`a version that was not acknowledged is rolled back, which is said: a file of ${into} is ${how}`, async (t) => {
      const dir = await tempDir(t)
      const folder = await madeIn(t, dir)
      const file = await written(dir, folder, into, false)
      await damage(file, (await stat(file)).size)
      const began = Date.now()
      const { index, warnings } = await opened(t, dir)
      t.equal(await index.count(), 40)
      const rolledBackAt = await index.check()
      t.ok(rolledBackAt !== undefined && rolledBackAt.getTime() >= began - 2000 && rolledBackAt.getTime() <= Date.now())
      t.match(warnings[0], /newest version of .* needed .*, which is incomplete, as after a power loss.*_quarantine/)
      t.ok(await index.get('p3'))
      t.match(await readinessOf({ index }), [{ ok: true, detail: /40 passages; rolled back at 20.*_quarantine/ }])
      await index.upsert([{ id: 'new', title: '', text: 'new' }], await embed(['new']))
      index.close()
      const again = await opened(t, dir)
      t.equal(await again.index.count(), 41)
      t.same(again.warnings, [])
      t.match(await verifyIndex({ dir, table: 'passages' }), { passages: 41 })
    })
  }

await t.test('a version is acknowledged by one after it, and by being served', async (t) => {
  const dir = await tempDir(t)
  const folder = await madeIn(t, dir)
  const file = await written(dir, folder, 'data', false)
  const first = await opened(t, dir)
  t.equal(await first.index.count(), 70)
  first.index.close()
  await truncate(file, 10)
  await t.rejects((await opened(t, dir)).index.view(), { code: 'index_invalid' })
})

await t.test('passages that have changed on the disk are not read, written again or compacted', async (t) => {
  const dir = await tempDir(t)
  const { index } = await opened(t, dir)
  const put = async (first: number): Promise<void> => {
    const passages = somePassages(9, first)
    await index.upsert(passages, await embed(passages.map(passageText)))
  }
  for (const first of [0, 20, 40]) await put(first)
  const changed = somePassages(1, 22)
  const files = (await filesUnder(dir)).filter((file) => basename(dirname(file)) === 'data')
  const stored = await Promise.all(files.map((file) => readFile(file)))
  const [at, bytes] = [...stored.entries()].find(([, content]) => content.includes('number 22.')) ?? []
  if (at === undefined || bytes === undefined) throw new Error('no file has the passage')
  await writeFile(files[at] ?? '', Buffer.from(bytes.toString('latin1').replace('number 22.', 'number 72.'), 'latin1'))

  const { index: again } = await opened(t, dir)
  const expected = { code: 'index_invalid', message: /"p22" is not what was written.*cepe index verify/ }
  await t.rejects(again.get('p22'), expected)
  await t.rejects(again.list({ limit: 100 }), expected)
  await t.rejects(async () => {
    for await (const _ of again.export());
  }, expected)
  const view = await again.view()
  const [vector = new Float32Array()] = await embed(changed.map(passageText))
  await t.rejects(view.search(vector, { k: 3 }), expected)
  await t.rejects(view.searchText('number 72', { k: 3 }), expected)
  t.match(await again.get('p21'), { id: 'p21' }, 'other passages are read')

  const location = { dir, table: 'passages' }
  const lost = `data/${basename(files[at] ?? '')}`
  for (const task of ['compact', 'cleanup'] as const)
    await t.rejects(compactionCommand({ ...location, task, keepMs: 0, dryRun: false }), {
      code: 'index_invalid',
      message: new RegExp(`${lost} of .* has changed since it was committed`),
    })
  await t.rejects(verifyIndex(location), { code: 'index_invalid', message: new RegExp(`${lost} .* has changed since`) })

  const warnings: string[] = []
  using connection = await connectLance(dir, 0)
  const table = await connection.openTable(basename(dirname(dirname(files[at] ?? '')), '.lance'))
  await orLater(
    () => cleanTable(table, 0),
    (warning) => warnings.push(warning),
  )
  t.match(warnings, [/^Compaction failed: .* has changed since it was committed/], 'a job that could compact says why it does not')
})

await t.test('a damaged manifest of an earlier version is named, and needed by nothing but the clean-up of versions', async (t) => {
  const dir = await tempDir(t)
  const folder = await madeIn(t, dir)
  const oldest = (await manifestsIn(folder)).findLast((name) => name.endsWith('.manifest')) ?? ''
  const at = (file: string): string => JSON.stringify(new URL(`../../../index/table/${file}`, import.meta.url).href)
  // In another process: this one has read the manifests.
  const versions = async (): Promise<string> => {
    const script = `
      const { connectLance } = await import(${at('lance.js')})
      const { versionsOf } = await import(${at('manifest.js')})
      const table = await (await connectLance(${JSON.stringify(dir)}, 0)).openTable(${JSON.stringify(basename(folder, '.lance'))})
      console.log(await versionsOf(table).then(({ length }) => length > 0, ({ code, message }) => code + ' ' + message))`
    return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])).stdout
  }
  for (const damage of [(file: string) => truncate(file, 20), (file: string) => writeFile(file, '')]) {
    await damage(join(folder, '_versions', oldest))
    t.match(await versions(), new RegExp(`^index_invalid .*_versions/${oldest}, of an earlier version, .*remove it`))
  }
  t.equal(await (await opened(t, dir)).index.count(), 40)
  await rm(join(folder, '_versions', oldest))
  t.equal(await versions(), 'true\n')
})

await t.test('a manifest that is a folder is named', async (t) => {
  const dir = await tempDir(t)
  const folder = await madeIn(t, dir)
  const [newest = ''] = await manifestsIn(folder)
  await rm(join(folder, '_versions', newest))
  await mkdir(join(folder, '_versions', newest))
  await t.rejects((await opened(t, dir)).index.count(), { code: 'store_unavailable', message: new RegExp(`${newest} is no file`) })
})

await t.test('the folder of a table is deleted', async (t) => {
  const dir = await tempDir(t)
  const folder = await madeIn(t, dir)
  await rm(folder, { recursive: true })
  const { index } = await opened(t, dir)
  await t.rejects(index.view(), { code: 'index_invalid', message: /"good"/ })
  await t.rejects(index.delete(['p1']), { code: 'index_invalid' })
  t.notOk((await readdir(dir)).includes(basename(folder)))
})

await t.test('a file that is lost while the table serves', async (t) => {
  const dir = await tempDir(t)
  const folder = await madeIn(t, dir)
  const { index } = await opened(t, dir)
  t.equal(await index.count(), 40)
  for (const file of await filesUnder(join(folder, 'data'))) await rm(file)
  await t.rejects(index.list({ limit: 50 }), { code: 'index_invalid', message: /"good"/ })
})

/** Damage to a served table by which acknowledged passages, or its name, are lost, and which no search notices. */
const UNNOTICED: Readonly<Record<string, (dir: string, newest: string, older: string) => Promise<void>>> = {
  'its newest version is gone': (_dir, newest) => rm(newest),
  'its newest version is overwritten by the one before': (_dir, newest, older) => copyFile(older, newest),
  'a byte of its newest version has changed': async (_dir, newest) => {
    const bytes = await readFile(newest)
    bytes[bytes.length - 1 - 16] = (bytes[bytes.length - 1 - 16] ?? 0) ^ 4
    await writeFile(newest, bytes)
  },
  'its alias is empty': (dir) => writeFile(join(dir, 'passages.alias.json'), ''),
  'its alias is a folder': async (dir) => {
    await rm(join(dir, 'passages.alias.json'))
    await mkdir(join(dir, 'passages.alias.json'))
  },
}

for (const [what, damage] of Object.entries(UNNOTICED))
  for (const readOnly of [false, true])
    await t.test(`a ${readOnly ? 'replica' : 'service'} is not ready, as index verify finds: ${what}`, async (t) => {
      const dir = await tempDir(t)
      const folder = await madeIn(t, dir)
      const index = await openIndex({
        dir,
        model: hashEmbedding,
        compactAfter: 1e6,
        onWarning: () => undefined,
        readOnly,
        consistencyMs: 0,
      })
      t.teardown(() => index.close())
      const { index: writer } = readOnly ? await opened(t, dir) : { index }
      await writer.upsert([{ id: 'last', title: '', text: 'last' }], await embed(['last']))
      t.match(await readinessOf({ index }), [{ ok: true, detail: /41 passages/ }])
      const [newest = '', older = ''] = (await manifestsIn(folder)).map((name) => join(folder, '_versions', name))
      await damage(dir, newest, older)
      const found = await verifyIndex({ dir, table: 'passages' }).then(
        () => 'nothing',
        (error: Error) => error.message,
      )
      t.match(found, /is missing, incomplete or changed|is damaged|is no file that can be read/)
      const [check] = await readinessOf({ index })
      t.match(check, { ok: false, detail: found })
    })

await t.test('nothing is written on top of an earlier version while a later one is lost', async (t) => {
  const dir = await tempDir(t)
  const folder = await madeIn(t, dir)
  const { index } = await opened(t, dir)
  await index.upsert([{ id: 'last', title: '', text: 'last' }], await embed(['last']))
  const [newest = ''] = await manifestsIn(folder)
  const manifest = join(folder, '_versions', newest)
  const whole = await readFile(manifest)
  await rm(manifest)
  const expected = { code: 'index_invalid', message: new RegExp(`${newest} of the table "passages" is missing`) }
  await t.rejects(index.upsert([{ id: 'next', title: '', text: 'next' }], await embed(['next'])), expected)
  await t.rejects(index.delete(['p1']), expected)
  await writeFile(manifest, whole)
  await index.upsert([{ id: 'next', title: '', text: 'next' }], await embed(['next']))
  t.equal(await index.count(), 42)
  t.match(await verifyIndex({ dir, table: 'passages' }), { passages: 42 })
})
