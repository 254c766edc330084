import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { exists, orAbsent, readText } from '../../base/exists.ts'
import { fileBytes, filesUnder, headOf } from '../../base/files.ts'

t.test('folders that go while a tree is read take nothing else along', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'cepe-files-under-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  await writeFile(join(dir, 'stays'), '')
  for (let round = 0; round < 10; round++) {
    const going = Array.from({ length: 100 }, (_, i) => join(dir, `${i}`))
    for (const folder of going) {
      await mkdir(folder)
      await writeFile(join(folder, 'file'), '')
    }
    const [found] = await Promise.all([filesUnder(dir), ...going.map((folder) => rm(folder, { recursive: true }))])
    t.ok(found.includes(join(dir, 'stays')))
  }
  t.same(await filesUnder(dir), [join(dir, 'stays')])
  t.same(await filesUnder(join(dir, 'none')), [])
})

t.test('a pipe is no file to read: its first bytes would be lost', { timeout: 60_000 }, async (t) => {
  const dir = t.testdir({ file: 'text' })
  const pipe = join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, '/dev/null'])
    await t.rejects(headOf(path, 4), { code: 'not_found', message: `${path} is a pipe or a device: name a regular file.` })
  t.equal(String(await headOf(join(dir, 'file'), 2)), 'te')
})

t.test('a link to what is missing is no missing file', async (t) => {
  const dir = t.testdir({ file: 'text', link: t.fixture('symlink', 'unmounted'), folder: {} })
  t.equal(await orAbsent(stat(join(dir, 'none'))), undefined)
  t.equal(await readText(join(dir, 'none', 'deep')), undefined)
  t.same([await exists(join(dir, 'none', 'deep')), await exists(join(dir, 'file', 'deep'))], [false, false])
  for (const path of ['link', 'link/deep/file'])
    for (const work of [exists, readText, (at: string): Promise<unknown> => orAbsent(readdir(at))])
      await t.rejects((): Promise<unknown> => work(join(dir, path)), {
        code: 'store_unavailable',
        message: /link is a link whose target is missing/,
      })
  t.equal(await readText(join(dir, 'file')), 'text')
  await t.rejects(readText(join(dir, 'folder')), { code: 'store_unavailable', message: /folder is no file .*EISDIR/ })
})

t.test('a missing file is the error of who reads it, whenever that is', async (t) => {
  const bytes = fileBytes(join(t.testdir(), 'none.tsv'))
  await sleep(50)
  await t.rejects(bytes.next(), { code: 'ENOENT' })
})
