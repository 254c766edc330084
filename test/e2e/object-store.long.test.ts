import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { listNames } from '../../index/store/object-store/objects.ts'
import { runCli, startServer } from '../helpers/cli.ts'
import { folderOf, KEY, settingsOf, WITH_STORE } from '../helpers/object-store-process.ts'
import { startObjectStore } from '../helpers/object-store.ts'
import { somePassages } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'
import { until } from '../helpers/until.ts'

const ADMIN = { authorization: `Bearer ${KEY}` }

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

await t.test('an indexer and two replicas on an object store', WITH_STORE, async (t) => {
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
  const put = () =>
    fetch(`${indexer.url}/v1/passages`, {
      method: 'PUT',
      headers: { ...ADMIN, 'content-type': 'application/json', 'idempotency-key': 'one' },
      body: JSON.stringify({ passages: [{ id: 'by-hand', title: 'generation 0', text: 'A passage by hand.' }] }),
    })
  const answers = [await (await put()).text(), await (await put()).text()]
  t.equal(answers[0], answers[1], 'the kept answer')
  t.notOk(existsSync('s3:'), 'no folder is taken for the address')
  // The indexer maintains the table after a change: its lease comes and goes.
  const names = async () => (await listNames(address)).filter((name) => name !== 'passages.upkeep')
  const before = await names()
  const mirrored = await start({ CEPE_ROLE: 'replica', CEPE_MIRROR_DIR: path.join(dir, 'mirror') })
  const direct = await start({ CEPE_ROLE: 'replica' })
  t.same(await names(), before, 'replicas leave the store as it is')

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
  await until(async () => (await ready(mirrored.url)).detail('store') === 'the replica cache is up to date')
  await until(async () => (await search(direct.url)).titles[0] === 'generation 2')
  for (const server of [indexer, mirrored, direct, again]) t.equal(await server.stop(), 0)
})

await t.test('what is wrong with the settings is said, and nothing hangs', WITH_STORE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const env = settingsOf(store, dir, store.address())
  const said = async (own: Record<string, string>) => {
    const { code, stderr } = await runCli(['index', 'sources'], { ...env, ...own })
    t.notMatch(stderr, /a-secret-of|a-key-of/)
    return `${code} ${stderr}`
  }
  t.match(await said({ AWS_ENDPOINT_URL: '', AWS_REGION: '' }), /^1 .*AWS_REGION/s)
  t.match(
    await said({ AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_EC2_METADATA_DISABLED: 'true', HOME: dir }),
    /^1 .*no credentials.*AWS_ACCESS_KEY_ID/s,
  )
  t.match(await said({ CEPE_INDEX_DIR: 's3://no-such-bucket/index' }), /^1 .*no bucket s3:\/\/no-such-bucket/s)
  t.match(await said({ AWS_ENDPOINT_URL: 'http://127.0.0.1:9' }), /^1 .*does not answer/s)
})
