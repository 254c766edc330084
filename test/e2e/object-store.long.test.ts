import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { contentHash } from '../../index/hash.ts'
import { listNames } from '../../index/store/objects.ts'
import type { Passage } from '../../index/contract.ts'
import { runCli, startServer } from '../helpers/cli.ts'
import { noObjectStore, startObjectStore, type ObjectStore } from '../helpers/object-store.ts'
import { storedRows } from '../helpers/stored-rows.ts'
import { somePassages } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

const KEY = 'an-admin-key-of-this-test'
const ADMIN = { authorization: `Bearer ${KEY}` }
const HERE = { skip: noObjectStore, timeout: 380_000 }

async function folderOf(t: Test): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-object-store-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

function settingsOf(store: ObjectStore, dir: string, address: string) {
  return {
    ...store.env,
    CEPE_READER_CHECKPOINT: 'models/tiny/checkpoint/cepe',
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
    CEPE_READER_DIR: path.join(dir, 'reader'),
    CEPE_RETRIEVER_DIR: path.join(dir, 'retriever'),
    CEPE_INDEX_DIR: address,
    CEPE_JOBS_DIR: path.join(dir, 'jobs'),
    CEPE_CORPUS: '',
    CEPE_ADMIN_KEY: KEY,
    CEPE_LOG_LEVEL: 'silent',
    CEPE_THREADS: '1',
  }
}

/** A corpus of which every passage says which one it is. */
function corpusOf(generation: number): string {
  return toTsv(somePassages(40).map((passage) => ({ ...passage, title: `generation ${generation}` })))
}

interface Reply {
  readonly status: number
  readonly titles: readonly string[]
  readonly code?: string
}

async function search(url: string): Promise<Reply> {
  const response = await fetch(`${url}/v1/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'harbor meadow', k: 10 }),
  })
  const body = (await response.json()) as { passages?: { title: string }[]; error?: { code: string } }
  return {
    status: response.status,
    titles: [...new Set((body.passages ?? []).map(({ title }) => title))],
    ...(body.error && { code: body.error.code }),
  }
}

async function until(wanted: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) if (await wanted()) return
  throw new Error('it did not come about')
}

function rowsOf(passages: readonly Passage[], source: string): string[] {
  return passages.map((passage) => `${passage.id} ${contentHash({ ...passage, source })}`).sort()
}

async function rowsAt(address: string): Promise<string[]> {
  return (await storedRows(address)).map(([row]) => row)
}

await t.test('an indexer and two replicas on an object store', HERE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const address = store.address()
  const env = settingsOf(store, dir, address)
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, corpusOf(0))
  const start = async (own: Record<string, string>) => {
    const server = await startServer({ ...env, ...own })
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const indexer = await start({ CEPE_ROLE: 'indexer', CEPE_CORPUS: corpus })
  const before = await listNames(address)
  const mirrored = await start({ CEPE_ROLE: 'replica', CEPE_MIRROR_DIR: path.join(dir, 'mirror') })
  const direct = await start({ CEPE_ROLE: 'replica' })
  t.same(await listNames(address), before, 'replicas leave the store as it is')

  const seen = new Set<string>()
  let asking = true
  t.teardown(() => (asking = false))
  const load = [mirrored, direct].map(async ({ url }) => {
    while (asking) {
      const { status, titles } = await search(url)
      seen.add(`${status} ${titles.join(' and ')}`)
    }
  })
  for (const generation of [1, 2]) {
    const response = await fetch(`${indexer.url}/v1/admin/index-jobs?replace=true`, {
      method: 'POST',
      headers: { ...ADMIN, 'content-type': 'text/tab-separated-values' },
      body: corpusOf(generation),
    })
    const { id } = (await response.json()) as { id: string }
    const state = async () =>
      ((await (await fetch(`${indexer.url}/v1/admin/index-jobs/${id}`, { headers: ADMIN })).json()) as { state: string }).state
    await until(async () => (await state()) === 'done')
    const done = performance.now()
    for (const { url } of [mirrored, direct]) {
      await until(async () => (await search(url)).titles[0] === `generation ${generation}`)
      t.comment(`seen ${Math.round(performance.now() - done)} ms after the job's end`)
    }
  }
  asking = false
  await Promise.all(load)
  t.same([...seen].sort(), ['200 generation 0', '200 generation 1', '200 generation 2'], 'nothing failed, nothing mixed')

  store.reachable = false
  const ready = async (url: string) => {
    const response = await fetch(`${url}/readyz`)
    const { checks } = (await response.json()) as { checks: { name: string; ok: boolean; detail: string }[] }
    return { status: response.status, detail: (name: string) => checks.find((check) => check.name === name)?.detail ?? '' }
  }
  await until(async () => (await ready(mirrored.url)).detail('store').includes('cannot be copied'))
  t.match(await search(mirrored.url), { status: 200, titles: ['generation 2'] }, 'answers from the copy')
  t.equal((await ready(mirrored.url)).status, 200, 'and says that it is ready, and what is wrong')
  const again = await start({ CEPE_ROLE: 'replica', CEPE_MIRROR_DIR: path.join(dir, 'mirror') })
  t.match(await search(again.url), { status: 200, titles: ['generation 2'] }, 'also one that starts meanwhile')
  t.match(await search(direct.url), { status: 503, code: 'store_unavailable' }, 'who has no copy says why it cannot answer')
  t.equal((await ready(direct.url)).status, 503)
  t.notMatch((await ready(direct.url)).detail('index'), /a-secret-of|a-key-of/)
  store.reachable = true
  await until(async () => (await ready(mirrored.url)).detail('store') === 'the copy is up to date')
  await until(async () => (await search(direct.url)).titles[0] === 'generation 2')
  for (const server of [indexer, mirrored, direct, again]) t.equal(await server.stop(), 0)
})

/** Plans a corpus and has it embedded. */
async function prepared(t: Test, dir: string, env: Record<string, string>, name: string, passages: readonly Passage[]): Promise<string> {
  const [corpus, place] = [path.join(dir, `${name}.tsv`), path.join(dir, name)]
  await writeFile(corpus, toTsv(passages))
  t.match(await runCli(['index', 'plan', corpus, '--out', place, '--shard-rows', '25'], env), { code: 0 })
  const { stdout } = await runCli(['index', 'pending', place], env)
  const worker = spawn(process.execPath, ['dist/src/cli.js', 'embed-worker', place], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  worker.stdin.end(stdout)
  const [code] = (await once(worker, 'close')) as [number]
  t.equal(code, 0)
  return place
}

await t.test('a commit killed again and again ends with the planned table', HERE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const address = store.address()
  const env = settingsOf(store, dir, address)
  const [first, second] = [somePassages(200), somePassages(150, 120)]
  const places = [await prepared(t, dir, env, 'first', first), await prepared(t, dir, env, 'second', second)]
  let seed = 11
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  for (const [at, place] of places.entries()) {
    const args = ['index', 'commit', place, ...(at === 0 ? ['--replace'] : [])]
    let kills = 0
    for (; kills < 5; kills++) {
      const controller = new AbortController()
      const timer = setTimeout(() => controller.abort(), 1500 + next() * 4000)
      const { code } = await runCli(args, env, controller.signal)
      clearTimeout(timer)
      if (code === 0) break
    }
    t.comment(`${kills} kills`)
    if (kills === 5) t.match(await runCli(args, env), { code: 0, stdout: / done / })
    const expected = new Map(rowsOf(first, 'first.tsv').map((row) => [row.split(' ')[0], row]))
    if (at === 1) for (const row of rowsOf(second, 'second.tsv')) expected.set(row.split(' ')[0], row)
    t.same(await rowsAt(address), [...expected.values()].sort())
  }
  t.match(await runCli(['index', 'sources'], env), { code: 0, stdout: /150\tsecond\.tsv\n120\tfirst\.tsv\n/ })
})

interface Commit {
  readonly child: ChildProcess
  readonly ended: Promise<string>
}

function commit(place: string, env: Record<string, string>, ...options: string[]): Commit {
  const child = spawn(process.execPath, ['dist/src/cli.js', 'index', 'commit', place, ...options], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { child, ended: once(child, 'close').then(() => output) }
}

await t.test('a writer that stalls past its lease writes nothing over who took over', HERE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const address = store.address()
  const env = settingsOf(store, dir, address)
  /** Another machine: another folder of jobs. */
  const other = { ...env, CEPE_JOBS_DIR: path.join(dir, 'other-jobs') }
  const base = somePassages(60)
  const [stalls, takes] = [somePassages(60, 50), somePassages(60, 100)]
  const baseAt = await prepared(t, dir, env, 'base', base)
  const [stalledAt, takingAt] = [await prepared(t, dir, env, 'stalled', stalls), await prepared(t, dir, other, 'taking', takes)]
  t.match(await runCli(['index', 'commit', baseAt, '--replace'], env), { code: 0 })

  let reached: () => void = () => undefined
  let passOn: () => void = () => undefined
  const [atCommit, released] = [new Promise<void>((resolve) => (reached = resolve)), new Promise<void>((resolve) => (passOn = resolve))]
  let stalled: Commit | undefined
  store.faults.push({
    when: (method, url) => method === 'PUT' && url.includes('.manifest'),
    times: 1,
    what: {
      after: () => {
        stalled?.child.kill('SIGSTOP')
        reached()
        return released
      },
    },
  })
  stalled = commit(stalledAt, env)
  t.teardown(() => stalled?.child.kill('SIGKILL'))
  await atCommit
  const taking = commit(takingAt, other)
  t.teardown(() => taking.child.kill('SIGKILL'))
  t.match(await taking.ended, / done /, 'the other waits for the lease to expire, and takes over')
  const afterTaking = await rowsAt(address)
  passOn()
  await sleep(500)
  stalled.child.kill('SIGCONT')
  t.match(await stalled.ended, /took over the writing of the index/)
  t.same(await rowsAt(address), afterTaking, 'what was on its way was not put on top')
  t.match(await commit(stalledAt, env).ended, / done /, 'run again it ends')
  const expected = new Map(rowsOf(base, 'base.tsv').map((row) => [row.split(' ')[0], row]))
  for (const row of [...rowsOf(stalls, 'stalled.tsv'), ...rowsOf(takes, 'taking.tsv')]) expected.set(row.split(' ')[0], row)
  t.same(await rowsAt(address), [...expected.values()].sort(), 'no row is lost, none is there twice')
})

await t.test('what is wrong with the settings is said, and nothing hangs', HERE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const env = settingsOf(store, dir, store.address())
  const said = async (own: Record<string, string>) => {
    const { code, stderr } = await runCli(['index', 'sources'], { ...env, ...own })
    t.notMatch(stderr, /a-secret-of|a-key-of/)
    return `${code} ${stderr}`
  }
  t.match(await said({ CEPE_INDEX_DIR: 'gs://bucket/index' }), /^1 .*gs:\/\/.*not supported/s)
  t.match(await said({ CEPE_INDEX_DIR: 's3://Bad_Bucket' }), /^1 .*should read s3:\/\/bucket\/prefix/s)
  t.match(await said({ CEPE_JOBS_DIR: '' }), /^1 .*CEPE_JOBS_DIR must be set/s)
  t.match(await said({ AWS_ALLOW_HTTP: '' }), /^1 .*AWS_ALLOW_HTTP/s)
  t.match(await said({ AWS_ENDPOINT_URL: '', AWS_REGION: '' }), /^1 .*AWS_REGION/s)
  t.match(await said({ AWS_SECRET_ACCESS_KEY: '' }), /^1 .*belong together/s)
  t.match(
    await said({ AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_EC2_METADATA_DISABLED: 'true', HOME: dir }),
    /^1 .*no credentials.*AWS_ACCESS_KEY_ID/s,
  )
  t.match(await said({ CEPE_INDEX_DIR: 's3://no-such-bucket/index' }), /^1 .*no bucket "no-such-bucket"/s)
  t.match(await said({ AWS_ENDPOINT_URL: 'http://127.0.0.1:9' }), /^1 .*does not answer/s)
})
