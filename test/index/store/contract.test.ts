import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { bytesUnder, storeOf, within } from '../../../index/store/store-of.ts'
import { readAlias } from '../../../index/versions/alias.ts'
import { startObjectStore } from '../../helpers/object-store.ts'
import { tempDir } from '../helpers.ts'
import { codeOf, HERE } from './helpers.ts'

interface StoreLocation {
  readonly dir: string
  readonly env?: Readonly<Record<string, string>>
}

const STORES = [
  { name: 'a folder', options: {}, open: async (t: Test): Promise<StoreLocation> => ({ dir: join(await tempDir(t), 'index') }) },
  {
    name: 'an object store',
    options: HERE,
    open: async (t: Test): Promise<StoreLocation> => {
      const store = await startObjectStore(t)
      return { dir: store.address(), env: store.env }
    },
  },
]

async function namesOf(dir: string, most?: number): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of storeOf(dir).files.walk(dir, most)) names.push(name)
  return names
}

for (const { name, options, open } of STORES) {
  await t.test(`${name} keeps files`, options, async (t) => {
    const { dir } = await open(t)
    const { files, ...store } = storeOf(dir)
    t.same([await files.list(dir), await namesOf(dir), await bytesUnder(dir)], [[], [], 0], 'nothing is there, and that is no error')
    t.equal(await files.read(within(dir, 'a.json')), undefined)
    t.equal(await files.age(within(dir, 'deep')), Infinity)
    t.equal(await files.age(within(dir, 'a.json')), Infinity)
    await files.makeFolder(dir)
    for (const file of ['b.json', 'a.json', 'deep/er/c.json']) await files.write(within(dir, ...file.split('/')), `text of ${file}`)
    await files.write(within(dir, 'a.json'), 'äöü')
    t.equal(await files.read(within(dir, 'a.json')), 'äöü')
    t.ok((await files.age(within(dir, 'a.json'))) < 60_000, 'the age of a file')
    t.same(await files.list(dir), ['a.json', 'b.json', 'deep'])
    t.same(await namesOf(dir), ['a.json', 'b.json', 'deep/er/c.json'])
    t.same(await namesOf(dir, 1), ['a.json'])
    t.equal(await bytesUnder(dir), 6 + 14 + 22)
    t.ok((await files.age(within(dir, 'deep'))) < 60_000)
    for (const writtenOnce of [true, false])
      t.ok(await files.copy(within(dir, 'b.json'), within(dir, 'copies', `${writtenOnce}`), { bytes: 14, writtenOnce }))
    t.equal(await files.read(within(dir, 'copies', 'true')), 'text of b.json')
    t.notOk(await files.copy(within(dir, 'gone'), within(dir, 'copies', 'none'), { bytes: 1, writtenOnce: true }))
    t.notOk(await files.copy(within(dir, 'gone'), within(dir, 'copies', 'none'), { bytes: 1, writtenOnce: false }))
    await files.remove(within(dir, 'b.json'))
    await files.remove(within(dir, 'b.json'))
    t.equal(await files.read(within(dir, 'copies', 'true')), 'text of b.json', 'a copy stays')
    const local = await tempDir(t)
    await files.download(within(dir, 'copies', 'true'), join(local, 'down'))
    t.equal(await readFile(join(local, 'down'), 'utf8'), 'text of b.json')
    t.equal(await codeOf(files.download(within(dir, 'gone'), join(local, 'gone'))), 'not_found')
    const renamed = await codeOf(files.rename(within(dir, 'copies'), within(dir, 'moved')))
    t.equal(renamed, store.renames ? 'none' : 'unsupported')
    t.ok((await files.list(dir)).includes(store.renames ? 'moved' : 'copies'))
    await files.removeTree(within(dir, 'deep'))
    await files.removeTree(within(dir, 'deep'))
    t.notOk((await files.list(dir)).includes('deep'))
    await store.check(dir, { writes: true })
    t.ok((await store.freeBytes(dir)) > 0)
    t.equal(store.resolve('/base', dir), dir)
  })

  await t.test(`${name} keeps values`, options, async (t) => {
    const { dir } = await open(t)
    const { values, files } = storeOf(dir)
    const path = within(dir, 'value.alias.json')
    t.same([await values.read(path), await values.age(path)], [undefined, Infinity])
    t.ok(await values.create(path, { to: 'a' }))
    t.notOk(await values.create(path, { to: 'b' }))
    t.same(await values.read(path), { to: 'a' })
    await values.write(path, { to: 'c' })
    t.same(await values.read(path), { to: 'c' })
    t.ok((await values.age(path)) < 60_000)
    await values.remove(path)
    t.equal(await values.read(path), undefined)
    await files.write(path, '{"to": ')
    t.equal(await values.read(path), null, 'a damaged value')
    await t.rejects(readAlias({ dir, table: 'value' }), { code: 'index_invalid' })
  })

  await t.test(`${name} has locks`, options, async (t) => {
    const { dir } = await open(t)
    const { locks, values } = storeOf(dir)
    const path = within(dir, 'value.json')
    const lock = locks.of(path, within(dir, 'value.lock'))
    const first = await locks.take(lock, { waitMs: 0 })
    t.ok(first)
    t.equal(await locks.take(lock, { waitMs: 0 }), undefined)
    await values.write(path, { by: 'the holder' })
    await locks.check(dir)
    let got = false
    const second = locks.take(lock, { waitMs: 30_000 }).then((taken) => {
      got = true
      return taken
    })
    await sleep(50)
    t.notOk(got)
    await first?.release()
    const held = await second
    t.ok(held)
    t.same(await values.read(path), { by: 'the holder' }, 'a lock leaves the value as it is')
    const gaveUp = new AbortController()
    const third = locks.take(lock, { waitMs: 30_000, signal: gaveUp.signal })
    gaveUp.abort(new CodedError('client_closed', 'gave up'))
    t.equal(await codeOf(third), 'client_closed')
    t.notOk(held?.lost.aborted)
    await held?.release()
    await (await locks.take(lock, { waitMs: 0 }))?.release()
  })

  await t.test(`${name} keeps lists`, options, async (t) => {
    const { dir } = await open(t)
    const { logs } = storeOf(dir)
    const folder = within(dir, 'changes')
    t.same(await logs.names(folder), [])
    const early = logs.reader(folder, 'b')
    t.same(await early(), [])
    for (const list of ['b', 'a', 'b']) await logs.begin(folder, list)
    t.same(await logs.names(folder), ['a', 'b'])
    await logs.append(folder, 'b', '{"n": 1}')
    t.same(await early(), ['{"n": 1}'])
    await logs.append(folder, 'b', '{"n": 2}')
    await logs.append(folder, 'b', '{"n": 3}')
    t.same((await early()).sort(), ['{"n": 2}', '{"n": 3}'])
    t.same(await early(), [])
    t.equal((await logs.reader(folder, 'b')()).length, 3)
    t.same(await logs.reader(folder, 'a')(), [])
    await logs.end(folder, 'b')
    await logs.end(folder, 'b')
    t.same(await logs.names(folder), ['a'])
    // A writer that listed the logs before the end.
    await logs.append(folder, 'b', '{"n": 4}')
    t.same(await logs.names(folder), ['a'], 'an ended log is not open again')
  })

  await t.test(`${name} survives a process that is killed at its work`, options, async (t) => {
    const { dir, env } = await open(t)
    const { files, locks, logs, marks, values } = storeOf(dir)
    await files.makeFolder(dir)
    await logs.begin(within(dir, 'changes'), 'job')
    const child = spawn(process.execPath, ['dist-test/test/index/store/store-process.js', dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env['PATH'], ...env },
    })
    t.teardown(() => child.kill('SIGKILL'))
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    while (!said.includes('written')) await once(child.stdout, 'data')
    t.equal(await locks.take(within(dir, 'held'), { waitMs: 0 }), undefined)
    const seen = await marks.list(within(dir, 'marks'))
    t.ok(seen.length === 0 || seen[0] === 'reading', 'a store without marks has none')
    child.kill('SIGKILL')
    await once(child, 'close')
    const lock = await locks.take(within(dir, 'held'), { waitMs: 30_000 })
    t.ok(lock, 'its lock is given to the next')
    await lock?.release()
    t.same(await marks.list(within(dir, 'marks')), [])
    t.match(await values.read(within(dir, 'value.json')), { number: Number, fill: /^x{20000}$/ })
    t.match(JSON.parse((await files.read(within(dir, 'file.json'))) ?? ''), { fill: /^x{20000}$/ })
    await logs.append(within(dir, 'changes'), 'job', '{"number": -1}')
    const whole = (await logs.reader(within(dir, 'changes'), 'job')()).flatMap((entry) => {
      try {
        return [(JSON.parse(entry) as { number: number }).number]
      } catch {
        return []
      }
    })
    t.ok(
      [-1, 0, 1, 2, 3].every((number) => whole.includes(number)),
      'what was appended is whole, also after what was cut off',
    )
  })
}
