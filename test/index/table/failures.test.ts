import { execFileSync } from 'node:child_process'
import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { at } from '../../../base/at.ts'
import { messageOf } from '../../../base/errors.ts'
import * as failures from '../../../base/failures.ts'
import { filesUnder } from '../../../base/files.ts'
import { configureStores } from '../../../index/store/object-store/settings.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { createTable } from '../../../index/table/create.ts'
import { packVectors } from '../../../index/table/rows.ts'
import { mergeRows } from '../../../index/table/write.ts'
import { contentHash } from '../../../index/hash.ts'
import { passageText } from '../../../index/contract.ts'
import { SKIPS } from '../../helpers/skips.ts'
import { until } from '../../helpers/until.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

const STORED_AS = 'passages.made'

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => t.fail('nothing was thrown'),
    (error: unknown) => error,
  )
}

/** A connection that sees no commits of others by itself, and a table of a few rows. */
async function made(t: Test, dir: string) {
  const connection = await connectLance(dir, undefined)
  t.teardown(() => connection.close())
  const table = await createTable(connection, STORED_AS, hashEmbedding)
  const put = async (count: number, from = 0): Promise<void> => {
    const passages = somePassages(count, from)
    const vectors = await embed(passages.map(passageText))
    await mergeRows(
      table,
      { passages, hashes: passages.map(contentHash), halves: packVectors(passages, vectors, hashEmbedding.dimension) },
      hashEmbedding.dimension,
    )
  }
  await put(20)
  return { connection, table, put }
}

/** The one recogniser that says yes, of those for errors of a table. */
function recognised(error: unknown): string[] {
  const { isDiskFull, isCommitConflict, isVersionGone, isBrokenFile } = failures
  return Object.entries({ isDiskFull, isCommitConflict, isVersionGone, isBrokenFile }).flatMap(([name, is]) => (is(error) ? [name] : []))
}

await t.test('a commit that another writer was first for', async (t) => {
  const dir = await tempDir(t)
  const { table } = await made(t, dir)
  const other = await (await connectLance(dir, undefined)).openTable(STORED_AS)
  t.teardown(() => other.close())
  await table.addColumns([{ name: 'twice', valueSql: '1' }])
  const late = await thrownBy(other.addColumns([{ name: 'twice', valueSql: '1' }]))
  t.same(recognised(late), ['isCommitConflict'], failures.lanceText(late))
})

await t.test('a version whose manifest has gone', async (t) => {
  const dir = await tempDir(t)
  const { table } = await made(t, dir)
  const version = await table.version()
  await table.update({ where: 'true', values: { title: 'next' } })
  const manifests = (await filesUnder(join(dir, `${STORED_AS}.lance`, '_versions'))).filter((file) => file.endsWith('.manifest')).sort()
  t.ok(manifests.length >= 2)
  for (const manifest of manifests.slice(1)) await rm(manifest)
  const gone = await thrownBy((await connectLance(dir, undefined)).openTable(STORED_AS, version))
  t.same(recognised(gone), ['isVersionGone'], failures.lanceText(gone))
})

await t.test('a file that is not whole', async (t) => {
  const dir = await tempDir(t)
  await made(t, dir)
  for (const bytes of [0, 40]) {
    const data = await filesUnder(join(dir, `${STORED_AS}.lance`, 'data'))
    await truncate(at(data, 0), bytes)
    const table = await (await connectLance(dir, undefined)).openTable(STORED_AS)
    const broken = await thrownBy(table.query().select(['id']).toArray())
    t.same(recognised(broken), ['isBrokenFile'], failures.lanceText(broken))
    t.notMatch(failures.lanceText(broken), /\.cargo|\.rs:/, 'where in its own source is left out')
  }
})

await t.test('a file with changed bytes', async (t) => {
  const dir = await tempDir(t)
  await made(t, dir)
  const [file = ''] = await filesUnder(join(dir, `${STORED_AS}.lance`, 'data'))
  const whole = await readFile(file)
  let found = 0
  for (let at = 0; at < whole.length; at += 97)
    for (const fill of [0, 255]) {
      await writeFile(file, Buffer.from(whole).fill(fill, at, Math.min(at + 200, whole.length)))
      using connection = await connectLance(dir, undefined)
      const read = connection.openTable(STORED_AS).then((table) => table.query().toArray())
      const thrown = await read.then(
        () => undefined,
        (error: unknown) => error,
      )
      if (thrown !== undefined) found++
      if (thrown !== undefined)
        t.match(failures.failureOf(thrown), { code: 'index_invalid', message: /cepe index verify/ }, messageOf(thrown))
    }
  t.ok(found > 20, `${found} reads fail`)
})

await t.test('a full disk, as the system says it', async (t) => {
  t.same(recognised(await thrownBy(writeFile('/dev/full', 'x'))), ['isDiskFull'])
})

await t.test('a full disk, as LanceDB says it', async (t) => {
  const dir = await tempDir(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'cepe-test', dir], { stdio: 'ignore' })
  } catch {
    t.plan(0, SKIPS.mount)
    return
  }
  t.teardown(() => execFileSync('umount', ['-l', dir], { stdio: 'ignore' }))
  const { put } = await made(t, dir)
  const full = await thrownBy(Promise.all(Array.from({ length: 6 }, (_, i) => put(4000, 1000 * i))))
  t.ok(failures.isDiskFull(full) || (full as { code?: string }).code === 'disk_full', failures.lanceText(full))
})

await t.test('an object store that cannot be reached', async (t) => {
  configureStores({
    endpoint: 'http://127.0.0.1:1',
    region: 'us-east-1',
    allowHttp: true,
    answerMs: 500,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  })
  t.teardown(() => configureStores({}))
  const opened = connectLance('s3://cepe-test/none', undefined).then((connection) => connection.openTable(STORED_AS))
  t.match(failures.failureOf(await thrownBy(opened)), {
    code: 'store_unavailable',
    message: /check the store, its credentials and the network/,
  })
})

await t.test('what a call still uses can be closed: the call ends, and it is closed after', async (t) => {
  const { connection, table } = await made(t, await tempDir(t))
  const counts = Array.from({ length: 20 }, () => table.countRows())
  const openings = Array.from({ length: 20 }, () => connection.openTable(STORED_AS))
  table.close()
  connection.close()
  t.same(new Set(await Promise.all(counts)), new Set([20]))
  for (const opened of await Promise.all(openings)) opened.close()
  await until(() => !table.isOpen())
  await until(() =>
    connection.tableNames().then(
      () => false,
      (error: unknown) => messageOf(error) === 'Connection is closed',
    ),
  )
})
