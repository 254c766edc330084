import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { exists, orAbsent, readText } from '../../base/exists.ts'
import { fileBytes, filesUnder, headOf } from '../../base/files.ts'
import { readPlan } from '../../index/ingest/plan/plan.ts'
import { readSmallFile } from '../../models/checkpoint/config/json.ts'
import { openWeightFile } from '../../models/checkpoint/file.ts'
import { loadManifest } from '../../models/folder.ts'
import { readTexts } from '../../src/cli/verify.ts'
import { chooseCalibration } from '../../src/rag/calibration.ts'
import { loadDemonstrations } from '../../src/rag/demonstrations.ts'

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

t.test('no reader waits for a pipe', { timeout: 60_000 }, async (t) => {
  const dir = t.testdir({ model: {}, plan: {} })
  const [pipe, manifest, plan] = [join(dir, 'pipe'), join(dir, 'model', 'manifest.json'), join(dir, 'plan', 'plan.json')]
  execFileSync('mkfifo', [pipe, manifest, plan])
  const reads: Readonly<Record<string, readonly [() => Promise<unknown>, { code: string; message?: RegExp }]>> = {
    'a file of the index': [() => readText(pipe), { code: 'store_unavailable', message: /can be read \(a pipe or a device\)/ }],
    CEPE_CALIBRATION: [
      () => chooseCalibration({ named: pipe, shipped: '' }, { reader: '' }),
      { code: 'config_invalid', message: /is a pipe or a device: name a regular file/ },
    ],
    CEPE_DEMONSTRATIONS: [() => loadDemonstrations(pipe), { code: 'config_invalid', message: /is a pipe or a device/ }],
    '--texts': [() => readTexts(pipe), { code: 'options_invalid' }],
    '--golden': [() => openWeightFile(pipe), { code: 'checkpoint_invalid', message: /is not a regular file/ }],
    'a config': [() => readSmallFile(pipe), { code: 'not_found', message: /is a pipe or a device/ }],
    'a manifest': [() => loadManifest(join(dir, 'model')), { code: 'model_invalid' }],
    'a plan': [() => readPlan(join(dir, 'plan')), { code: 'not_found', message: /is a pipe or a device/ }],
  }
  for (const [name, [read, error]] of Object.entries(reads)) await t.rejects(read(), error, name)
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
