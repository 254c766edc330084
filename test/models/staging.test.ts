import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { processTag } from '../../base/process-tag.ts'
import { loadContrieverManifest, loadRerankerManifest } from '../../models/folder.ts'
import { fillFolder, recoverFolder, stagingPrefix } from '../../models/staging.ts'
import { distanceFromF32 } from '../../src/cli/verify.ts'
import { runCli } from '../helpers/cli.ts'
import { temporaryFolder } from './helpers.ts'

const DEAD = `${2 ** 22 + 1}-1`
const LONG_AGO = new Date(Date.now() - 2 * 24 * 3_600_000)

async function fill(outDir: string, content: string): Promise<void> {
  await fillFolder(outDir, (staging) => {
    writeFileSync(join(staging, 'manifest.json'), content)
    return Promise.resolve()
  })
}

await t.test('builds at work are left alone, whichever machine or container they run on', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const [place = ''] = (await processTag()).split('-')
  const elsewhere = `model.partial-${'0'.repeat(16)}-${DEAD}.0`
  const names = [
    elsewhere,
    `model.partial-${await processTag()}.7`,
    `model.partial-${place}-${DEAD}.0`,
    'model.partial-123-0',
    'models.partial-1',
  ]
  for (const name of names) mkdirSync(join(folder, name))
  await fill(outDir, 'new')
  t.same(readdirSync(folder).sort(), ['model', ...names.filter((_, i) => i !== 2)].sort(), "only the dead process's is gone")
  utimesSync(join(folder, elsewhere), LONG_AGO, LONG_AGO)
  await fill(outDir, 'newer')
  t.notOk(existsSync(join(folder, elsewhere)), 'nothing happened in it for two days')
})

await t.test('the f32 build of a comparison that was killed is removed by the next build', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const seen: string[] = []
  const stopped = distanceFromF32(outDir, 'texts', (f32) => Promise.reject(new Error(`${seen.push(f32)} build`)))
  await t.rejects(stopped, { message: '1 build' })
  t.same(readdirSync(folder), [])
  const left = dirname(seen[0] ?? '').replace(/-\d+-\d+\./, `-${DEAD}.`)
  mkdirSync(join(left, 'f32'), { recursive: true })
  await fill(outDir, 'new')
  t.same(readdirSync(folder), ['model'])
})

await t.test('a kill between the two renames of a build loses nothing', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const [place = ''] = (await processTag()).split('-')
  const staging = join(folder, `model.partial-${place}-${DEAD}.0`)
  for (const [path, content] of [
    [staging, 'new'],
    [`${staging}-old`, 'old'],
  ] as const) {
    mkdirSync(path)
    writeFileSync(join(path, 'manifest.json'), content)
  }
  t.equal(await recoverFolder(outDir), true)
  t.equal(readFileSync(join(outDir, 'manifest.json'), 'utf8'), 'old')
  t.equal(await recoverFolder(outDir), false)
  await t.rejects(
    fillFolder(outDir, () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  )
  t.same(readdirSync(folder), ['model'], 'and the half-finished one is gone')
  t.equal(readFileSync(join(outDir, 'manifest.json'), 'utf8'), 'old')
})

await t.test('every process that opens a model finds the build whose replacement was killed', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const old = `${await stagingPrefix(outDir)}0-old`.replace(/-\d+-\d+\./, `-${DEAD}.`)
  const kept = async (what: string, open: () => Promise<unknown>, problem: object) => {
    mkdirSync(old)
    writeFileSync(join(old, 'manifest.json'), '{}')
    t.match(await open(), problem, what)
    t.same(readdirSync(folder), ['model'], what)
    rmSync(outDir, { recursive: true })
  }
  const found = /is no manifest of a built model/
  await kept('inspect', () => runCli(['inspect', outDir]), { code: 1, stderr: found })
  for (const load of [loadRerankerManifest, loadContrieverManifest])
    await kept('a manifest', () => load(outDir).catch((error: unknown) => error), { code: 'model_invalid', message: found })
})

await t.test('builds of one folder that end at the same moment all succeed, and one of them is there', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const contents = ['a', 'b', 'c', 'd', 'e', 'f']
  for (let round = 0; round < 20; round++) {
    const left = contents.length
    let arrived = 0
    let release = (): void => undefined
    const together = new Promise<void>((resolve) => (release = resolve))
    const build = (content: string) =>
      fillFolder(outDir, async (staging) => {
        writeFileSync(join(staging, 'manifest.json'), content)
        if (++arrived === left) release()
        await together
      })
    await Promise.all(contents.map(build))
    t.ok(contents.includes(readFileSync(join(outDir, 'manifest.json'), 'utf8')), 'a whole build')
    t.same(readdirSync(folder), ['model'], 'and nothing else')
  }
})

await t.test('of two processes that restore a replaced build, neither fails', async (t) => {
  const folder = temporaryFolder(t)
  const outDir = join(folder, 'model')
  const [place = ''] = (await processTag()).split('-')
  for (let round = 0; round < 20; round++) {
    mkdirSync(join(folder, `model.partial-${place}-${DEAD}.${round}-old`))
    const restored = await Promise.all([1, 2, 3].map(() => recoverFolder(outDir)))
    t.equal(restored.filter(Boolean).length, 1, 'one of them restored it')
    renameSync(outDir, join(folder, `taken-${round}`))
  }
})
