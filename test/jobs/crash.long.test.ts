import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { builtForTests, finished, startNode } from '../helpers/processes.ts'
import { readAlias } from '../../index/versions/alias.ts'
import { contentHash } from '../../index/hash.ts'
import { connectLance } from '../../index/table/lance.ts'
import { stringsOf } from '../../index/table/rows.ts'
import { chunks } from '../../index/table/write.ts'
import type { Passage } from '../../index/contract.ts'
import { somePassages, tempDir } from '../index/helpers.ts'
import { toTsv } from './helpers.ts'
import { SKIPS } from '../helpers/skips.ts'

interface Indexing {
  /** Milliseconds per embedding call. */
  readonly delay?: number
  readonly options?: object
  /** Milliseconds after which the job is cancelled. */
  readonly cancelAfter?: number
}

function start(dir: string, corpus: string, { delay = 30, options = {}, cancelAfter }: Indexing = {}): ChildProcess {
  const cancelled = cancelAfter === undefined ? [] : [String(cancelAfter)]
  return startNode(builtForTests('test/index/processes/indexing-process.js'), [
    dir,
    corpus,
    String(delay),
    JSON.stringify(options),
    ...cancelled,
  ])
}

async function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  const { code, stdout, stderr } = await finished(child)
  return { code, output: stdout + stderr }
}

/** "id hash" of every row of the live table, sorted: duplicates show. */
async function stored(dir: string): Promise<string[]> {
  const alias = await readAlias({ dir: join(dir, 'index'), table: 'passages' })
  const connection = await connectLance(join(dir, 'index'), 0)
  const rows = await (await connection.openTable(alias ?? '')).query().select(['id', 'hash']).toArrow()
  connection.close()
  return Array.from({ length: rows.numRows }, (_, row) => `${stringsOf(rows, 'id')(row)} ${stringsOf(rows, 'hash')(row)}`).sort()
}

function rowsOf(passages: readonly Passage[], source: string): string[] {
  return passages.map((p) => `${p.id} ${contentHash({ ...p, source })}`)
}

function expected(passages: readonly Passage[], source: string): string[] {
  return rowsOf(passages, source).sort()
}

function idIn(row: string): string {
  return row.slice(0, row.indexOf(' '))
}

/** Numbers from 0 to 1, the same ones every time (Lehmer). */
function random(seed: number) {
  return () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** Kills a process at a random point of the 700 ms after it has said that it works, or `begun`. */
async function killed(
  child: ChildProcess,
  next: () => number,
  begun: Promise<unknown> = new Promise((resolve) => child.stdout?.once('data', resolve)),
): Promise<void> {
  const end = ended(child)
  await Promise.race([end, begun])
  await Promise.race([end, sleep(next() * 700)])
  child.kill('SIGKILL')
  await end
}

/** Waits until the newest job has a shard in the table. */
async function committed(dir: string, jobs: number): Promise<void> {
  const folder = join(dir, 'index', 'jobs')
  for (;;) {
    const ids = (await readdir(folder)).sort()
    const journal = ids.length < jobs ? '' : await readFile(join(folder, ids.at(-1) ?? '', 'journal.jsonl'), 'utf8').catch(() => '')
    if (journal.includes('"committed"')) return
    await sleep(20)
  }
}

interface Killing {
  readonly dir: string
  readonly corpus: string
  readonly kills: number
  readonly next: () => number
  readonly options?: object
}

/** Kills the process at random points `kills` times, then lets it finish. */
async function killing({ dir, corpus, kills, next, options = {} }: Killing): Promise<string> {
  for (let i = 0; i < kills; i++) await killed(start(dir, corpus, { options }), next)
  const { code, output } = await ended(start(dir, corpus, { delay: 0, options }))
  if (code !== 0) throw new Error(output)
  return output
}

await t.test('killed at random points, a job ends with exactly the planned rows', { timeout: 100_000 }, async (t) => {
  const dir = await tempDir(t)
  const first = join(dir, 'first.tsv')
  await writeFile(first, toTsv(somePassages(2500)))
  t.match(await killing({ dir, corpus: first, kills: 3, next: random(1) }), / done/)
  t.same(await stored(dir), expected(somePassages(2500), 'first.tsv'))
  const more = join(dir, 'more.tsv')
  await writeFile(more, toTsv(somePassages(2500, 1500)))
  t.match(await killing({ dir, corpus: more, kills: 3, next: random(2) }), / done/)
  t.same(await stored(dir), [...expected(somePassages(1500), 'first.tsv'), ...expected(somePassages(2500, 1500), 'more.tsv')].sort())
})

await t.test('cancelled and killed at random points, a job leaves nothing half-done', { timeout: 100_000 }, async (t) => {
  const dir = await tempDir(t)
  const first = join(dir, 'first.tsv')
  await writeFile(first, toTsv(somePassages(300)))
  t.match(await killing({ dir, corpus: first, kills: 0, next: random(3) }), / done/)
  const before = await stored(dir)
  const corpus = somePassages(2500, 200)
  for (const replace of [true, false]) {
    const next = random(replace ? 30_000 : 40_000)
    const cancelled = join(dir, `cancelled-${String(replace)}.tsv`)
    await writeFile(cancelled, toTsv(corpus))
    // A hundred milliseconds for each of 25 shards: it cannot be done before it is cancelled.
    await killed(start(dir, cancelled, { delay: 100, options: { replace } }), next, committed(dir, replace ? 2 : 3))
    await killed(start(dir, cancelled, { delay: 100, options: { replace }, cancelAfter: next() * 700 }), next)
    const { code, output } = await ended(start(dir, cancelled, { delay: 100, options: { replace }, cancelAfter: 0 }))
    t.equal(code, 0, output)
    t.match(output, / cancelled/)
    const now = new Set(await stored(dir))
    if (replace) {
      t.same([...now], before, 'the old table, untouched')
      continue
    }
    const planned = new Set(rowsOf(corpus, basename(cancelled)))
    const added = chunks(rowsOf(corpus, basename(cancelled)), 100).filter((shard) => shard.some((row) => now.has(row)))
    t.ok(
      added.every((shard) => shard.every((row) => now.has(row))),
      `${added.length} shards are in it, each whole`,
    )
    t.ok(added.length > 0 && added.length < 25)
    const ids = new Set(added.flat().map(idIn))
    t.same(
      [...now].filter((row) => !planned.has(row)),
      before.filter((row) => !ids.has(idIn(row))),
      'the other rows are as they were',
    )
  }
  const whole = join(dir, 'whole.tsv')
  await writeFile(whole, toTsv(corpus))
  t.match(await killing({ dir, corpus: whole, kills: 0, next: random(6), options: { replace: true } }), / done/)
  t.same(await stored(dir), expected(corpus, 'whole.tsv'), 'the next job finds nothing in its way')
})

const mayMount = spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

await t.test(
  'a full disk stops the job, reads stay up, and it goes on when there is space',
  { timeout: 60_000, skip: !mayMount && SKIPS.mount },
  async (t) => {
    const dir = await tempDir(t)
    const mounted = join(dir, 'small')
    await mkdir(mounted)
    const corpus = join(dir, 'corpus.tsv')
    await writeFile(corpus, toTsv(somePassages(6000)))
    const add = `${process.execPath} dist-test/test/index/processes/indexing-process.js`
    const script = `
    mount -t tmpfs -o size=3m tmpfs ${mounted}
    head -200 ${corpus} > ${dir}/small.tsv
    ${add} ${mounted} ${dir}/small.tsv || exit 1
    ${add} ${mounted} ${corpus} || exit 2
    ${process.execPath} -e '
      import("./dist/index/open.js").then(async ({ openIndex }) => {
        const index = await openIndex({ dir: "${mounted}/index", model: { id: "hashed-words-32", dimension: 32 } })
        console.log("rows while full", (await index.count()) >= 199, (await index.view().then((view) => view.search(new Float32Array(32).fill(0.1), { k: 3 }))).length)
      })' || exit 3
    mount -o remount,size=64m ${mounted}
    ${add} ${mounted} ${corpus} || exit 4
    cp -r ${mounted}/index ${dir}/index`
    const { code, output } = await ended(spawn('unshare', ['-Urm', 'bash', '-c', script], { stdio: ['ignore', 'pipe', 'pipe'] }))
    t.equal(code, 0, output)
    t.match(output, /stopped The disk.*full/)
    t.match(output, /rows while full true 3/)
    t.same(await stored(dir), expected(somePassages(6000), 'corpus.tsv'))
  },
)

await t.test('two services on one index: both take part, every passage is in it once', { timeout: 60_000 }, async (t) => {
  const dir = await tempDir(t)
  const corpora = await Promise.all(
    [0, 800].map(async (from, i) => {
      const corpus = join(dir, `part${i}.tsv`)
      await writeFile(corpus, toTsv(somePassages(1000, from)))
      return corpus
    }),
  )
  const results = await Promise.all(corpora.map((corpus) => ended(start(dir, corpus, { delay: 5 }))))
  t.same(
    results.map(({ code }) => code),
    [0, 0],
    results.map(({ output }) => output).join('\n'),
  )
  const ids = (await stored(dir)).map((row) => row.split(' ')[0])
  t.equal(ids.length, 1800)
  t.equal(new Set(ids).size, 1800)
  t.same(
    (await readdir(join(dir, 'index', 'writer'))).filter((name) => name.endsWith('.ticket')),
    [],
    'the lock is free',
  )
  const jobs = await readdir(join(dir, 'index', 'jobs'))
  for (const id of jobs) t.match(JSON.parse(await readFile(join(dir, 'index', 'jobs', id, 'job.json'), 'utf8')), { state: 'done' })
})
