import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { startServer } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { until } from '../helpers/until.ts'

const KEY = 'an-admin-key-of-this-test'
const ADMIN = { authorization: `Bearer ${KEY}` }
const ROWS = 40
const WORDS = ['river', 'mountain', 'lake', 'harbour', 'valley']

/** A corpus of which every passage says which one it is. */
function corpusOf(generation: number): string {
  const rows = Array.from({ length: ROWS }, (_, i) => `p${i}\tThe ${WORDS[i % WORDS.length] ?? ''} number ${i}.\tgeneration ${generation}`)
  return ['id\ttext\ttitle', ...rows].join('\n')
}

/** Titles of what a question finds: one generation's, or the answer is mixed. */
async function generations(url: string, query: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, k: 10 }),
  })
  if (response.status !== 200) return [`status ${response.status}`]
  const { passages } = (await response.json()) as { passages: { title: string }[] }
  return [...new Set(passages.map(({ title }) => title))]
}

await t.test('an indexer and two replicas on a shared folder', { timeout: 380_000 }, async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-roles-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, corpusOf(0))
  const env = tinyService(dir, { CEPE_ADMIN_KEY: KEY, CEPE_LOG_LEVEL: 'silent' })
  const start = async (own: Record<string, string>) => {
    const server = await startServer({ ...env, ...own })
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const indexer = await start({ CEPE_ROLE: 'indexer', CEPE_CORPUS: corpus })
  t.notMatch(indexer.stderr(), /Building reader/, 'an indexer has no reader')
  const before = await readdir(env.CEPE_INDEX_DIR)
  const mirrored = await start({ CEPE_ROLE: 'replica', CEPE_MIRROR_DIR: path.join(dir, 'mirror') })
  const direct = await start({ CEPE_ROLE: 'replica' })
  const replicas = [mirrored, direct]
  t.same(await readdir(env.CEPE_INDEX_DIR), before, 'replicas leave the folder as it is')

  for (const { url } of replicas) {
    t.equal((await fetch(`${url}/readyz`)).status, 200)
    t.same(await generations(url, 'river'), ['generation 0'])
    const json = { ...ADMIN, 'content-type': 'application/json' }
    const refused = await Promise.all([
      fetch(`${url}/v1/passages`, { method: 'PUT', headers: json, body: '{"passages":[{"id":"x","title":"","text":"x"}]}' }),
      fetch(`${url}/v1/passages/p1`, { method: 'DELETE', headers: ADMIN }),
      fetch(`${url}/v1/admin/index`, { headers: ADMIN }),
      fetch(`${url}/v1/admin/index-jobs`, { headers: ADMIN }),
      fetch(`${url}/v1/admin/index-jobs`, {
        method: 'POST',
        headers: { ...ADMIN, 'content-type': 'text/tab-separated-values' },
        body: corpusOf(9),
      }),
    ])
    t.same(
      refused.map(({ status }) => status),
      [404, 404, 404, 404, 404],
    )
    t.match(await refused[0]?.json(), { error: { code: 'not_found', message: /replica/ } })
    t.match(await (await fetch(`${url}/v1/passages/p1`)).json(), { id: 'p1' }, 'reading goes on')
  }
  const question = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"question":"river"}' }
  t.equal((await fetch(`${indexer.url}/v1/answer`, question)).status, 404, 'an indexer answers nothing')
  t.match(await (await fetch(`${indexer.url}/readyz`)).json(), { ready: true, checks: [{ name: 'embedder' }, { name: 'index' }] })

  const seen = new Set<string>()
  let asking = true
  t.teardown(() => (asking = false))
  const load = replicas.map(async ({ url }) => {
    for (let i = 0; asking; i++) seen.add(`${(await generations(url, WORDS[i % WORDS.length] ?? '')).join(' and ')}`)
  })
  for (const generation of [1, 2, 3]) {
    const response = await fetch(`${indexer.url}/v1/admin/index-jobs?replace=true`, {
      method: 'POST',
      headers: { ...ADMIN, 'content-type': 'text/tab-separated-values' },
      body: corpusOf(generation),
    })
    t.equal(response.status, 202)
    const { id } = (await response.json()) as { id: string }
    const state = async () =>
      ((await (await fetch(`${indexer.url}/v1/admin/index-jobs/${id}`, { headers: ADMIN })).json()) as { state: string }).state
    await until(async () => (await state()) === 'done')
    const done = performance.now()
    for (const { url } of replicas) {
      await until(async () => (await generations(url, 'lake'))[0] === `generation ${generation}`)
      t.comment(`seen ${Math.round(performance.now() - done)} ms after the job's end`)
    }
  }
  asking = false
  await Promise.all(load)
  t.same([...seen].sort(), ['generation 0', 'generation 1', 'generation 2', 'generation 3'], 'nothing failed, nothing mixed')

  await indexer.stop()
  await rename(env.CEPE_INDEX_DIR, path.join(dir, 'away'))
  const store = async () =>
    (await (await fetch(`${mirrored.url}/readyz`)).json()) as { ready: boolean; checks: { name: string; detail: string }[] }
  const trouble = async () => (await store()).checks.find(({ name }) => name === 'store')?.detail ?? ''
  await until(async () => (await trouble()).includes('cannot be copied'))
  t.same(await generations(mirrored.url, 'valley'), ['generation 3'], 'answers from what it has')
  t.equal((await store()).ready, true, 'and says that it is ready, and what is wrong')
  t.notMatch(await trouble(), dir, 'without naming folders')
  await rename(path.join(dir, 'away'), env.CEPE_INDEX_DIR)
  await until(async () => (await trouble()) === 'the replica cache is up to date')
  t.equal(await mirrored.stop(), 0)
  t.equal(await direct.stop(), 0)
})
