import { cp } from 'node:fs/promises'
import path from 'node:path'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { builtFixture } from '../helpers/built-fixture.ts'
import { runCli, startServer, type RunningServer } from '../helpers/cli.ts'
import { expectedHits, randomRetriever, randomText } from '../helpers/random-retriever.ts'
import { builtService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

const KEY = 'an-admin-key-of-this-test'
const JSON_HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const K = 5

const passages = Array.from({ length: 40 }, (_, i) => ({ id: `p${i}`, title: `w${i}`, text: randomText(i, 12) }))
const questions = Array.from({ length: 6 }, (_, i) => randomText(500 + i, 4))

interface Found {
  readonly passages: readonly { id: string }[]
  readonly model: { readonly retriever: string }
}
interface Info {
  readonly retriever: { readonly id: string }
  readonly retrievers: readonly { readonly id: string; readonly serves: boolean }[]
  readonly newer_table: { readonly code: string; readonly message: string } | null
}

async function json<T>({ url }: RunningServer, route: string, body?: unknown, method = 'POST'): Promise<{ status: number; body: T }> {
  const sent = body === undefined ? {} : { method, body: JSON.stringify(body) }
  const response = await fetch(url + route, { headers: JSON_HEADERS, ...sent })
  return { status: response.status, body: (await response.json()) as T }
}

await t.test('another retriever of the same shape takes over while a service answers', { timeout: 200_000 }, async (t) => {
  const dir = await tempDir(t)
  await cp(await builtFixture(t, 'cepe-tiny-gqa'), path.join(dir, 'reader'), { recursive: true })
  const [a, b] = [await randomRetriever(dir, { seed: 1 }), await randomRetriever(dir, { seed: 2 })]
  const expected = [await expectedHits(a, { passages, questions, k: K }), await expectedHits(b, { passages, questions, k: K })] as const
  const [byA, byB] = expected
  t.notSame(byA.ids, byB.ids)
  const settings = (retriever: string, further: string, own: Record<string, string> = {}) =>
    builtService(dir, { reader: path.join(dir, 'reader'), retriever }, { CEPE_FURTHER_RETRIEVERS: further, CEPE_ADMIN_KEY: KEY, ...own })
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, toTsv(passages))
  t.match(await runCli(['index', 'add', corpus], settings(a, '')), { code: 0 })
  const server = await startServer(settings(a, b))
  t.teardown(() => server.stop('SIGKILL'))
  const old = await startServer(settings(a, '', { CEPE_ROLE: 'replica', CEPE_LOG_LEVEL: 'silent' }))
  t.teardown(() => old.stop('SIGKILL'))

  /** What a question finds, said as the model that finds it so; neither, and it is mixed or wrong. */
  const asked = async (from: RunningServer, i: number): Promise<string> => {
    const { status, body } = await json<Found>(from, '/v1/search', { query: questions[i], k: K, method: 'dense' })
    if (status !== 200) return `${status} ${JSON.stringify(body)}`
    const ids = JSON.stringify(body.passages.map(({ id }) => id))
    const by = expected.find(({ model }) => model === body.model.retriever)
    return JSON.stringify(by?.ids[i]) === ids ? `as ${by?.model}` : `mixed: ${ids} by ${body.model.retriever}`
  }
  const seen: string[] = []
  let asking = true
  t.teardown(() => (asking = false))
  const load = [server, old].map(async (from) => {
    for (let i = 0; asking; i++) seen.push(`${from === old ? 'old' : 'both'} ${await asked(from, i % questions.length)}`)
  })
  t.match(await runCli(['index', 'add', corpus, '--replace'], settings(b, a)), { code: 0 })
  const info = async (of: RunningServer) => (await json<Info>(of, '/v1/info')).body
  for (const end = Date.now() + 30_000; (await info(server)).retriever.id !== byB.model && Date.now() < end; ) await sleep(20)
  for (const end = Date.now() + 30_000; (await info(old)).newer_table === null && Date.now() < end; ) await sleep(20)
  await sleep(500)
  asking = false
  await Promise.all(load)
  t.same([...new Set(seen)].sort(), [`both as ${byA.model}`, `both as ${byB.model}`, `old as ${byA.model}`], `${seen.length} questions`)

  t.match(await info(server), {
    retrievers: [
      { id: byA.model, serves: false },
      { id: byB.model, serves: true },
    ],
    newer_table: null,
  })
  t.match(await info(old), { retriever: { id: byA.model }, newer_table: { code: 'index_invalid', message: /CEPE_FURTHER_RETRIEVERS/ } })
  const ready = await json<{ checks: { name: string; detail: string }[] }>(old, '/readyz')
  t.equal(ready.status, 200)
  t.match(ready.body.checks.find(({ name }) => name === 'index')?.detail, /answering from the table before the newest/)
  t.match(await (await fetch(`${old.url}/metrics`)).text(), /cepe_index_behind 1/)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  t.ok(metrics.includes(`cepe_retriever_serves{model="${byB.model}"} 1`))
  t.ok(metrics.includes(`cepe_retriever_serves{model="${byA.model}"} 0`))

  t.match(await json(server, '/v1/passages', { passages: [{ id: 'new', title: '', text: questions[0] }] }, 'PUT'), { status: 200 })
  const [first] = (await json<Found>(server, '/v1/search', { query: questions[0], k: 1, method: 'dense' })).body.passages
  const { body: stored } = await json<{ data: { embedding: number[] }[]; model: string }>(server, '/v1/embeddings', {
    model: byB.model,
    input: questions[0],
  })
  const [vector = []] = stored.data.map(({ embedding }) => embedding)
  const square = vector.reduce((sum, value) => sum + value * value, 0)
  t.match(first, { id: 'new' }, 'a passage that is put is embedded with the model of the table')
  t.ok(Math.abs((first as unknown as { score: number }).score - square) < square / 100)

  const { body: models } = await json<{ data: { id: string }[] }>(server, '/v1/models')
  t.same(models.data.slice(1).map(({ id }) => id), [byA.model, byB.model])
  const named = async (model: string) =>
    (await json<{ model?: string; error?: { code: string } }>(server, '/v1/embeddings', { model, input: 'w1' })).body
  t.match(await named(byA.model), { model: byA.model })
  t.match(await named('retriever-2-checkpoint'), { model: byB.model })
  t.match(await named('retriever-3-checkpoint'), { error: { code: 'model_not_found' } })
  const added = await runCli(['index', 'add', corpus], settings(a, b))
  t.match(added, { code: 0 }, 'a job adds to the table with its model, whichever is the first here')
  t.match(await asked(server, 1), `as ${byB.model}`)
  t.match(await runCli(['index', 'sources'], settings(a, '')), { code: 1, stderr: /CEPE_FURTHER_RETRIEVERS/ })
  t.match(await runCli(['index', 'sources'], settings(a, path.join(dir, 'none'))), { code: 1, stderr: /CEPE_FURTHER_RETRIEVERS: .*none/ })
  t.equal(await server.stop(), 0)
  t.equal(await old.stop(), 0)
})
