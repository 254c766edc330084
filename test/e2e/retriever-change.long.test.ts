import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createEmbedder } from '../../src/inference/pool/models/create-embedder.ts'
import { runCli, startServer, type RunningServer } from '../helpers/cli.ts'
import { askedOf, randomRetriever, randomText, type Asked } from '../fixtures/random-retriever.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

const KEY = 'an-admin-key-of-this-test'
const JSON_HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const K = 5

const passages = Array.from({ length: 40 }, (_, i) => ({ id: `p${i}`, title: `w${i}`, text: randomText(i, 12) }))

interface Found {
  readonly passages: readonly { id: string }[]
  readonly model: { readonly retriever: string }
}
interface Info {
  readonly retriever: { readonly id: string }
  readonly retrievers: readonly { readonly id: string; readonly serves: boolean }[]
  readonly newer_table: { readonly code: string; readonly message: string } | null
}

/** Questions, and what retrievers must find for them. */
async function asking(t: Test, folders: readonly string[]): Promise<Asked> {
  const embedders = await Promise.all(folders.map((modelDir) => createEmbedder({ modelDir })))
  const asked = await askedOf(embedders, { passages, count: 6, k: K })
  t.equal(new Set(asked.expected.map(({ ids }) => JSON.stringify(ids))).size, folders.length, 'they differ')
  await Promise.all(embedders.map((embedder) => embedder.close({ drainMs: 0 })))
  return asked
}

/** Of a service with the shipped reader. */
function settingsOf(dir: string, own: Record<string, string>) {
  return tinyService(dir, { CEPE_RETRIEVER_CHECKPOINT: path.join(dir, 'none'), CEPE_DEMONSTRATIONS: '', CEPE_ADMIN_KEY: KEY, ...own })
}

async function json<T>({ url }: RunningServer, route: string, body?: unknown, method = 'POST'): Promise<{ status: number; body: T }> {
  const sent = body === undefined ? {} : { method, body: JSON.stringify(body) }
  const response = await fetch(url + route, { headers: JSON_HEADERS, ...sent })
  return { status: response.status, body: (await response.json()) as T }
}

await t.test('another retriever of the same shape takes over while a service answers', { timeout: 200_000 }, async (t) => {
  const dir = await tempDir(t)
  const [a, b] = [await randomRetriever(dir, { seed: 1 }), await randomRetriever(dir, { seed: 2 })]
  const { questions, expected } = await asking(t, [a, b])
  const [byA, byB] = expected.map(({ model }) => ({ model })) as [{ model: string }, { model: string }]
  const settings = (retriever: string, further: string, own: Record<string, string> = {}) =>
    settingsOf(dir, { CEPE_RETRIEVER_DIR: retriever, CEPE_FURTHER_RETRIEVERS: further, ...own })
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
  let going = true
  t.teardown(() => (going = false))
  const load = [server, old].map(async (from) => {
    for (let i = 0; going; i++) seen.push(`${from === old ? 'old' : 'both'} ${await asked(from, i % questions.length)}`)
  })
  t.match(await runCli(['index', 'add', corpus, '--replace'], settings(b, a)), { code: 0 })
  const info = async (of: RunningServer) => (await json<Info>(of, '/v1/info')).body
  for (const end = Date.now() + 30_000; (await info(server)).retriever.id !== byB.model && Date.now() < end;) await sleep(20)
  for (const end = Date.now() + 30_000; (await info(old)).newer_table === null && Date.now() < end;) await sleep(20)
  await sleep(500)
  going = false
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
  t.equal(ready.status, 200, JSON.stringify(ready.body))
  t.match(ready.body.checks.find(({ name }) => name === 'index')?.detail, /serving the previous table/)
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
  t.same(
    models.data.slice(1).map(({ id }) => id),
    [byA.model, byB.model],
  )
  const named = async (model: string) =>
    (await json<{ model?: string; error?: { code: string } }>(server, '/v1/embeddings', { model, input: 'w1' })).body
  t.match(await named(byA.model), { model: byA.model })
  t.match(await named('retriever-2-checkpoint'), { model: byB.model })
  t.match(await named('retriever-3-checkpoint'), { error: { code: 'model_not_found' } })
  const added = await runCli(['index', 'add', corpus], settings(a, b))
  t.match(added, { code: 0, stdout: /41 passages/ }, 'a job adds to the table with its model, whichever is the first here')
  t.match(await runCli(['index', 'sources'], settings(a, '')), { code: 0, stdout: /\S/ }, 'what needs no vectors works with another model')
  t.match(await runCli(['index', 'add', corpus], settings(a, '')), { code: 1, stderr: /CEPE_FURTHER_RETRIEVERS/ })
  t.match(await runCli(['index', 'sources'], settings(a, path.join(dir, 'none'))), { code: 1, stderr: /CEPE_FURTHER_RETRIEVERS: .*none/ })
  t.equal(await server.stop(), 0)
  t.equal(await old.stop(), 0)
})

await t.test(
  'a change of retriever under load: three replicas are rolled before and after it, and back to one',
  { timeout: 380_000 },
  async (t) => {
    const dir = await tempDir(t)
    const [a, b] = [await randomRetriever(dir, { seed: 1 }), await randomRetriever(dir, { seed: 3, hidden: 24 })]
    const { questions, expected } = await asking(t, [a, b])
    const [byA, byB] = expected.map(({ model }) => model)
    const corpus = path.join(dir, 'corpus.tsv')
    await writeFile(corpus, toTsv(passages))
    let started = 0
    const start = async (role: 'indexer' | 'replica', own: Record<string, string>) => {
      const replicaCache = role === 'replica' && ++started % 3 !== 0 ? { CEPE_MIRROR_DIR: path.join(dir, `mirror-${started}`) } : {}
      const server = await startServer(settingsOf(dir, { CEPE_ROLE: role, CEPE_LOG_LEVEL: 'silent', ...replicaCache, ...own }))
      t.teardown(() => server.stop('SIGKILL'))
      return server
    }
    const onlyA = { CEPE_RETRIEVER_DIR: a }
    const bFirst = { CEPE_RETRIEVER_DIR: b, CEPE_FURTHER_RETRIEVERS: a }
    let indexer = await start('indexer', { ...onlyA, CEPE_CORPUS: corpus })
    const replicas = [await start('replica', onlyA), await start('replica', onlyA), await start('replica', onlyA)]

    /** Questions that are with each replica: one is stopped when it has none, as behind a balancer that was told. */
    const busy = new Map<RunningServer, number>()
    const seen = new Map<string, number>()
    let going = true
    t.teardown(() => (going = false))
    const ask = async (at: number): Promise<string> => {
      const server = replicas[at % replicas.length] as RunningServer
      busy.set(server, (busy.get(server) ?? 0) + 1)
      const i = at % questions.length
      const [route, body] =
        at % 2 === 0
          ? (['/v1/search', { query: questions[i], k: K, method: 'dense' }] as const)
          : (['/v1/answer', { question: questions[i], k: K, method: 'dense', k_decoder: 0, max_new_tokens: 2 }] as const)
      const answer = await json<Partial<Found> & { evidence?: Found['passages'] }>(server, route, body)
      busy.set(server, (busy.get(server) ?? 0) - 1)
      const ids = JSON.stringify((answer.body.passages ?? answer.body.evidence ?? []).map(({ id }) => id))
      const by = expected.find(({ model }) => model === answer.body.model?.retriever)
      return answer.status === 200 && JSON.stringify(by?.ids[i]) === ids
        ? `as ${by?.model}`
        : `${answer.status} ${JSON.stringify(answer.body)}`
    }
    const load = Array.from({ length: 4 }, async (_, worker) => {
      for (let at = worker; going; at += 4) {
        const said = await ask(at).catch((error: unknown) => `failed: ${String(error)}`)
        seen.set(said, (seen.get(said) ?? 0) + 1)
      }
    })
    /** Each replica gets a successor before it goes. */
    const roll = async (own: Record<string, string>) => {
      for (const [at, old] of [...replicas.entries()]) {
        const fresh = await start('replica', own)
        t.equal((await fetch(`${fresh.url}/readyz`)).status, 200)
        replicas[at] = fresh
        while ((busy.get(old) ?? 0) > 0) await sleep(10)
        t.equal(await old.stop(), 0)
      }
    }
    const restart = async (own: Record<string, string>) => {
      t.equal(await indexer.stop(), 0)
      indexer = await start('indexer', own)
    }
    const flip = async (model: string | undefined, asked: readonly RunningServer[]) => {
      const headers = { ...JSON_HEADERS, 'content-type': 'text/tab-separated-values' }
      const ordered = await fetch(`${indexer.url}/v1/admin/index-jobs?replace=true`, { method: 'POST', headers, body: toTsv(passages) })
      t.equal(ordered.status, 202)
      for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
        const now = await Promise.all(asked.map(async (one) => (await json<Info>(one, '/v1/info')).body.retriever.id))
        if (now.every((id) => id === model)) return
      }
      t.fail('not every replica answers from the new table')
    }
    t.match(await json(indexer, '/v1/passages', { passages: [passages[0]] }, 'PUT'), { status: 200 })
    await roll({ ...onlyA, CEPE_FURTHER_RETRIEVERS: b })
    await restart(bFirst)
    t.match(
      await json(indexer, '/v1/passages', { passages: [passages[0]] }, 'PUT'),
      { status: 200 },
      'the table before takes changes in its model',
    )
    t.same([...seen.keys()], [`as ${byA}`])
    const late = await start('replica', onlyA)
    await flip(byB, replicas)
    t.match(await json(late, '/v1/info'), { body: { retriever: { id: byA } } }, 'one that was forgotten goes on with what it has')
    t.equal((await fetch(`${late.url}/readyz`)).status, 200)
    await roll({ CEPE_RETRIEVER_DIR: b })
    await restart({ CEPE_RETRIEVER_DIR: b })
    await sleep(500)
    going = false
    await Promise.all(load)
    t.comment(JSON.stringify([...seen]))
    t.same([...seen.keys()].sort(), [`as ${byA}`, `as ${byB}`].sort(), 'no question failed, none was answered by a mixture')
    for (const server of [indexer, late, ...replicas]) t.equal(await server.stop(), 0)
  },
)
