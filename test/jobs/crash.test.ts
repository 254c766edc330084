import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readAlias } from '../../index/alias.ts'
import { contentHash } from '../../index/hash.ts'
import { connectLance } from '../../index/lance.ts'
import { stringAt } from '../../index/rows.ts'
import type { Passage } from '../../index/types.ts'
import { somePassages, tempDir } from '../index/helpers.ts'
import { toTsv } from './helpers.ts'

const start = (dir: string, corpus: string, delay = 30, options = {}): ChildProcess =>
  spawn(process.execPath, ['dist/eval/bench/indexing-process.js', dir, corpus, String(delay), JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH } })

const ended = async (child: ChildProcess): Promise<{ code: number | null; output: string }> => {
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'exit')) as [number | null]
  return { code, output }
}

/** "id hash" of every row of the live table, sorted: duplicates show. */
const stored = async (dir: string): Promise<string[]> => {
  const alias = await readAlias(join(dir, 'index'), 'passages')
  const connection = await connectLance(join(dir, 'index'), 0)
  const rows = await (await connection.openTable(alias?.stored_as ?? '')).query().select(['id', 'hash']).toArrow()
  connection.close()
  return Array.from({ length: rows.numRows }, (_, row) => `${stringAt(rows, 'id', row)} ${stringAt(rows, 'hash', row)}`).sort()
}

const expected = (passages: readonly Passage[], source: string): string[] => passages.map((p) => `${p.id} ${contentHash({ ...p, source })}`).sort()

/** Numbers from 0 to 1, the same ones every time (Lehmer). */
const random = (seed: number) => () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647

/** Kills the process at random points until it has been killed `kills` times, then lets it finish. */
const killing = async (dir: string, corpus: string, kills: number, next: () => number, options = {}): Promise<string> => {
  for (let killed = 0; killed < kills; killed++) {
    const child = start(dir, corpus, 30, options)
    const end = ended(child)
    await Promise.race([end, new Promise((resolve) => child.stdout?.once('data', resolve))])
    await Promise.race([end, sleep(next() * 700)])
    child.kill('SIGKILL')
    await end
  }
  const { code, output } = await ended(start(dir, corpus, 0, options))
  if (code !== 0) throw new Error(output)
  return output
}

await t.test('killed at random points, a job ends with exactly the planned rows', { timeout: 100_000 }, async (t) => {
  const dir = await tempDir(t)
  const first = join(dir, 'first.tsv')
  await writeFile(first, toTsv(somePassages(2500)))
  t.match(await killing(dir, first, 3, random(1)), / done/)
  t.same(await stored(dir), expected(somePassages(2500), 'first.tsv'))
  const more = join(dir, 'more.tsv')
  await writeFile(more, toTsv(somePassages(2500, 1500)))
  t.match(await killing(dir, more, 3, random(2)), / done/)
  t.same(await stored(dir), [...expected(somePassages(1500), 'first.tsv'), ...expected(somePassages(2500, 1500), 'more.tsv')].sort())
})

const mayMount = spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

await t.test('a full disk stops the job, reads stay up, and it goes on when there is space', { timeout: 60_000, skip: !mayMount && 'small disks cannot be mounted here' }, async (t) => {
  const dir = await tempDir(t)
  const mounted = join(dir, 'small')
  await mkdir(mounted)
  const corpus = join(dir, 'corpus.tsv')
  await writeFile(corpus, toTsv(somePassages(6000)))
  const add = `${process.execPath} dist/eval/bench/indexing-process.js`
  const script = `
    mount -t tmpfs -o size=3m tmpfs ${mounted}
    head -200 ${corpus} > ${dir}/small.tsv
    ${add} ${mounted} ${dir}/small.tsv || exit 1
    ${add} ${mounted} ${corpus} || exit 2
    ${process.execPath} -e '
      import("./dist/index/open.js").then(async ({ openIndex }) => {
        const index = await openIndex({ dir: "${mounted}/index", model: { id: "hashed-words-32", dimension: 32 } })
        console.log("rows while full", (await index.count()) >= 199, (await index.search(new Float32Array(32).fill(0.1), { k: 3 })).length)
      })' || exit 3
    mount -o remount,size=64m ${mounted}
    ${add} ${mounted} ${corpus} || exit 4
    cp -r ${mounted}/index ${dir}/index`
  const { code, output } = await ended(spawn('unshare', ['-Urm', 'bash', '-c', script], { stdio: ['ignore', 'pipe', 'pipe'] }))
  t.equal(code, 0, output)
  t.match(output, /stopped The disk.*full/)
  t.match(output, /rows while full true 3/)
  t.same(await stored(dir), expected(somePassages(6000), 'corpus.tsv'))
})

await t.test('two services on one index: both take part, every passage is in it once', { timeout: 60_000 }, async (t) => {
  const dir = await tempDir(t)
  const corpora = await Promise.all(
    [0, 800].map(async (from, i) => {
      const corpus = join(dir, `part${i}.tsv`)
      await writeFile(corpus, toTsv(somePassages(1000, from)))
      return corpus
    }),
  )
  const results = await Promise.all(corpora.map((corpus) => ended(start(dir, corpus, 5))))
  t.same(results.map(({ code }) => code), [0, 0], results.map(({ output }) => output).join('\n'))
  const ids = (await stored(dir)).map((row) => row.split(' ')[0])
  t.equal(ids.length, 1800)
  t.equal(new Set(ids).size, 1800)
  t.same((await readdir(join(dir, 'index', 'writer'))).filter((name) => name.endsWith('.holder')), [], 'the lock is free')
  const jobs = await readdir(join(dir, 'index', 'jobs'))
  for (const id of jobs) t.match(JSON.parse(await readFile(join(dir, 'index', 'jobs', id, 'job.json'), 'utf8')), { state: 'done' })
})
