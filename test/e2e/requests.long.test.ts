import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { LARGEST } from '../fixtures/largest-requests.ts'
import { root } from '../helpers/root.ts'
import { startServer } from '../helpers/processes.ts'
import { fuzz } from './fuzz.ts'
import { misuse } from './raw-sockets.ts'
import { send } from './send.ts'
import { tempDir } from '../index/helpers.ts'

const ADMIN_KEY = 'a key of this test alone'
/** The first part of the demo corpus: indexed in seconds. */
const PASSAGES = 400

const folder = await tempDir(t)
const corpus = path.join(folder, 'passages.tsv')
const demo = await readFile(path.join(root, 'index/corpus/passages.tsv'), 'utf8')
await writeFile(
  corpus,
  demo
    .split('\n')
    .slice(0, 1 + PASSAGES)
    .join('\n'),
)
const server = await startServer(
  {
    ...{ CEPE_LOG_LEVEL: 'silent', CEPE_ADMIN_KEY: ADMIN_KEY, CEPE_CORPUS: corpus },
    ...{ CEPE_INDEX_DIR: path.join(folder, 'index'), CEPE_KEYS_DIR: path.join(folder, 'keys'), CEPE_DEADLINE_MS: '5000' },
    CEPE_REQUEST_TIMEOUT_MS: '2000',
  },
  ['ignore', 'ignore', 'pipe'],
)
t.teardown(() => server.stop())

async function ready(t: Test): Promise<void> {
  t.equal((await send(server.url, { method: 'GET', path: '/readyz' })).status, 200, 'ready afterwards')
}

await t.test('generated requests get documented statuses, none is a fault, none hangs', async (t) => {
  const found = await fuzz({ url: server.url, key: ADMIN_KEY, cases: 600, seed: 1 })
  t.ok(found.cases >= 600, `${found.cases} requests: ${[...found.statuses].map(([status, count]) => `${count} x ${status}`).join(', ')}`)
  t.same(found.undocumented, new Map())
  t.same(found.faults, new Map())
  t.same([found.hung, found.broken], [[], []])
  await ready(t)
})

await t.test('misused connections are closed within 15 seconds', async (t) => {
  const { connections, held } = await misuse(server.url, 1)
  t.ok(connections > 10)
  t.same(held, [])
  await ready(t)
})

await t.test('the largest requests within the limits are answered or refused with a documented status', async (t) => {
  for (const { name, route, body } of LARGEST) {
    const asked = Array.from({ length: 4 }, () =>
      send(server.url, { path: route, body, headers: { authorization: `Bearer ${ADMIN_KEY}` } }),
    )
    const since = performance.now()
    t.equal((await fetch(`${server.url}/healthz`)).status, 200)
    t.ok(performance.now() - since < 3000, `${name}: /healthz answers while four of them are worked on`)
    for (const { status, body } of await Promise.all(asked)) {
      const isRefused = status === 503 && String(body).includes('"overloaded"')
      t.ok(isRefused || [200, 413, 422, 504].includes(status), `${name}: ${status}`)
    }
  }
  await ready(t)
})
