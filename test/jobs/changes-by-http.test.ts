import t, { type Test } from 'tap'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { tempDir } from '../index/helpers.ts'
import { embedderOf, withJobs } from './helpers.ts'

const KEY = 'a-key-for-tests-only'

/** A service over real folders; several may share one. */
async function served(t: Test, dir: string) {
  await mkdir(join(dir, 'import'), { recursive: true })
  const { index, jobs } = await withJobs(t, dir, { importDir: join(dir, 'import') })
  const { services: answering } = recordingServices()
  const embedder = embedderOf()
  const services = await servicesAround(t, { ...answering, retriever: { embedder, index } }, { index, jobs, embedder })
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const call = async (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) => {
    const json = typeof body === 'object' && !(body instanceof FormData)
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, ...(json ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : (body as string) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: JSON.parse(text) as Record<string, unknown> }
  }
  return { index, jobs, call }
}

await t.test('metadata goes in by PUT, is searched by, and comes back with hits, evidence, scores and pages', async (t) => {
  const { call } = await served(t, await tempDir(t))
  const passages = [
    { id: 'a', title: 'A', text: 'amber basin', metadata: { year: 1999, lang: 'en', tags: ['x', 'y'], open: true, note: null } },
    { id: 'b', title: 'B', text: 'amber delta', source: 's', metadata: { year: 2004, lang: 'de', tags: ['y'] } },
    { id: 'c', title: 'C', text: 'amber fjord' },
  ]
  t.match(await call('PUT', '/v1/passages', { passages }), { status: 200, json: { upserted: 3, unchanged: 0 } })
  t.match(await call('PUT', '/v1/passages', { passages }), { json: { upserted: 0, unchanged: 3 } })
  t.same((await call('GET', '/v1/passages/a')).json, passages[0])
  const ids = async (filter: object, path = '/v1/search') => {
    const { status, json } = await call('POST', path, { query: 'amber', method: 'dense', filter })
    t.equal(status, 200, JSON.stringify(json))
    return (json.passages as { id: string }[]).map(({ id }) => id).sort()
  }
  t.same(await ids({ metadata: { lang: 'en' } }), ['a'])
  t.same(await ids({ metadata: { lang: ['en', 'de'] } }), ['a', 'b'])
  t.same(await ids({ metadata: { year: { gte: 2000 } } }), ['b'])
  t.same(await ids({ metadata: { tags: 'y', year: { lt: 2000, gt: 1990 } } }), ['a'])
  t.same(await ids({ metadata: { open: true } }), ['a'])
  t.same(await ids({ metadata: { note: null } }), ['a'])
  t.same(await ids({ metadata: { lang: { prefix: 'd' } }, source: { equal: 's' }, id: { gt: 'a' } }), ['b'])
  t.same(await ids({ title: { in: ['A', 'C'] } }), ['a', 'c'])
  const hits = (await call('POST', '/v1/search', { query: 'amber', filter: { id: 'b' }, method: 'dense' })).json.passages
  t.match(hits, [{ id: 'b', source: 's', metadata: passages[1]?.metadata }])
  const answer = await call('POST', '/v1/answer', { question: 'amber', k: 3, filter: { metadata: { tags: 'y' } } })
  t.match(answer, { status: 200 })
  const evidence = answer.json.evidence as { id: string; metadata: object }[]
  t.same(Object.fromEntries(evidence.map(({ id, metadata }) => [id, metadata])), {
    a: passages[0]?.metadata,
    b: passages[1]?.metadata,
  })
  const supplied = { question: 'q', passages: [{ title: '', text: 'own', metadata: { mine: 1 } }] }
  t.match((await call('POST', '/v1/answer', supplied)).json, { evidence: [{ metadata: { mine: 1 } }] })
  const score = { question: 'amber', choices: ['x', 'y'], filter: { metadata: { lang: 'de' } } }
  t.match((await call('POST', '/v1/score', score)).json, { evidence: [{ id: 'b', metadata: { lang: 'de' } }] })
  t.same((await call('GET', '/v1/admin/passages')).json.passages, passages)
  t.match(await call('POST', '/v1/passages/delete', { filter: { metadata: { year: { lt: 2000 } } } }), { json: { deleted: 1 } })
  t.match(await call('GET', '/v1/passages/a'), { status: 404 })
})

await t.test('tokens that nobody reads are counted; split cuts documents, and a shorter version leaves nothing behind', async (t) => {
  const { call } = await served(t, await tempDir(t))
  const long = Array.from({ length: 700 }, (_, i) => `Word${i}${i % 10 === 9 ? '.' : ''}`).join(' ')
  const document = { id: 'd', title: 'D', text: long, source: 's' }
  const short = { id: 'k', title: 'K', text: 'short' }
  const whole = await call('PUT', '/v1/passages', { passages: [document, short] })
  t.match(whole, { status: 200, json: { upserted: 2, truncated_tokens: 445, truncated: [{ id: 'd', tokens: 445 }] } })
  t.match(await call('DELETE', '/v1/passages/d'), { status: 200 })

  const cut = await call('PUT', '/v1/passages', { passages: [document], split: true })
  t.match(cut, { status: 200, json: { upserted: 7, unchanged: 0, truncated_tokens: 0, truncated: undefined } })
  t.match((await call('GET', '/v1/passages/d%237')).json, { title: 'D', source: 's', text: /^Word600 .*Word699\.$/ })
  t.match(await call('GET', '/v1/passages/d'), { status: 404 })
  t.match((await call('PUT', '/v1/passages', { passages: [document], split: true })).json, { upserted: 0, unchanged: 7 })
  const shorter = { ...document, text: long.slice(0, long.indexOf('Word270')) }
  t.match((await call('PUT', '/v1/passages?partial=true', { passages: [shorter, {}], split: true })).json, {
    upserted: 1,
    unchanged: 2,
    rejected: 1,
    results: [{ id: 'd', status: 'upserted' }, { status: 'rejected' }],
  })
  for (const [id, status] of [
    ['d%233', 200],
    ['d%234', 404],
    ['d%237', 404],
  ] as const)
    t.equal((await call('GET', `/v1/passages/${id}`)).status, status, id)
  const many = Array.from({ length: 160 }, (_, i) => ({ ...document, id: `m${i}` }))
  const refused = await call('PUT', '/v1/passages', { passages: many, split: true })
  t.match(refused, { status: 400, json: { error: { field: 'split', message: /1120 passages/ } } })
})

await t.test('metadata and filters that cannot be are refused by name', async (t) => {
  const { call } = await served(t, await tempDir(t))
  const refused = async (response: Promise<{ status: number; json: object }>, field: string | RegExp) => {
    t.match(await response, { status: 400, json: { error: { code: 'invalid_request', field } } }, String(field))
  }
  const put = (metadata: unknown) => call('PUT', '/v1/passages', { passages: [{ id: 'a', title: '', text: 'x', metadata }] })
  await refused(put({ a: { b: 1 } }), /^passages\.0\.metadata/)
  await refused(put({ a: [1] }), /^passages\.0\.metadata/)
  await refused(put([]), /^passages\.0\.metadata/)
  await refused(put({ a: 'x'.repeat(1001) }), /^passages\.0\.metadata/)
  await refused(put({ '\n': 1 }), 'passages.0')
  const search = (filter: unknown) => call('POST', '/v1/search', { query: 'x', filter })
  await refused(search({ text: 'x' }), 'filter.text')
  await refused(search({ metadata: { a: { like: '%' } } }), 'filter.metadata.a.like')
  await refused(search({ metadata: { a: {} } }), /^filter\.metadata\.a/)
  await refused(search({ source: { gt: 5 } }), /^filter\.source/)
})

await t.test('with partial=true one bad passage does not fail the others', async (t) => {
  const { call, index } = await served(t, await tempDir(t))
  const good = { id: 'good', title: '', text: 'amber' }
  const passages = [good, { id: 'bare' }, { id: 'blank', title: '', text: '  ' }, good, 'word', { id: 'later', title: '', text: 'basin' }]
  t.match(await call('PUT', '/v1/passages', { passages }), { status: 400, json: { error: { code: 'invalid_request' } } })
  t.equal((await call('GET', '/v1/passages/good')).status, 503, 'nothing was written')
  const first = await call('PUT', '/v1/passages?partial=true', { passages })
  t.match(first, { status: 200, json: { upserted: 2, unchanged: 0, rejected: 4 } })
  t.match(first.json.results, [
    { id: 'good', status: 'upserted' },
    { id: 'bare', status: 'rejected', error: { code: 'invalid_request', field: 'passages.1.title' } },
    { id: 'blank', status: 'rejected', error: { message: /passages\.2: The text is empty/ } },
    { id: 'good', status: 'rejected', error: { field: 'passages.3.id', message: /twice/ } },
    { id: null, status: 'rejected', error: { field: 'passages.4' } },
    { id: 'later', status: 'upserted' },
  ])
  t.equal(await index.count(), 2)
  t.match(await call('PUT', '/v1/passages?partial=true', { passages: [good, { id: 5 }] }), {
    json: { upserted: 0, unchanged: 1, rejected: 1, results: [{ status: 'unchanged' }, { id: null, status: 'rejected' }] },
  })
  t.match(await call('PUT', '/v1/passages?partial=true', { passages: [] }), { status: 400 })
  t.match(await call('PUT', '/v1/passages?partial=true', { passages: [good], more: 1 }), { status: 400 })
  t.match(await call('PUT', '/v1/passages?partial=maybe', { passages: [good] }), { status: 400, json: { error: { field: 'partial' } } })
})

await t.test('an idempotency key gets the first answer again, also after a restart and from another process', async (t) => {
  const dir = await tempDir(t)
  const one = await served(t, dir)
  const body = { passages: [{ id: 'a', title: '', text: 'amber' }] }
  const keyed = (key: string) => ({ 'idempotency-key': key })
  const first = await one.call('PUT', '/v1/passages', body, keyed('k1'))
  t.match(first.json, { upserted: 1 })
  t.equal(first.headers.get('idempotency-replayed'), null)
  const second = await served(t, dir)
  for (const service of [one, second]) {
    const again = await service.call('PUT', '/v1/passages', body, keyed('k1'))
    t.same(again.json, first.json)
    t.equal(again.headers.get('idempotency-replayed'), 'true')
    const other = await service.call('PUT', '/v1/passages', { passages: [{ id: 'b', title: '', text: 'b' }] }, keyed('k1'))
    t.match(other, { status: 422, json: { error: { code: 'unprocessable', field: 'idempotency-key' } } })
  }
  t.match(await one.call('DELETE', '/v1/passages/a', undefined, keyed('d1')), { status: 200, json: { deleted: 1 } })
  t.match(await second.call('DELETE', '/v1/passages/a', undefined, keyed('d1')), { status: 200, json: { deleted: 1 } }, 'and not a 404')
  t.match(await one.call('DELETE', '/v1/passages/a', undefined, keyed('d2')), { status: 404 })
  await one.call('PUT', '/v1/passages', body)
  const gone = await second.call('DELETE', '/v1/passages/a', undefined, keyed('d2'))
  t.match(gone, { status: 404, json: { error: { code: 'not_found', field: 'id' } } })
  t.match(await one.call('GET', '/v1/passages/a'), { status: 200 }, 'what was put in between stays')
  t.match(await one.call('PUT', '/v1/passages', { passages: [{ id: 'x' }] }, keyed('bad')), { status: 400 })
  t.match(await one.call('PUT', '/v1/passages', body, keyed('bad')), { status: 200 }, 'a refused request has not used its key')
  t.match(await one.call('PUT', '/v1/passages', body, keyed('k'.repeat(256))), { status: 400 })
})

await t.test('a corpus sent again with its key is not indexed twice', async (t) => {
  const dir = await tempDir(t)
  const { call, jobs } = await served(t, dir)
  const post = (body: string | object, key: string, type = 'application/x-ndjson') =>
    call('POST', '/v1/admin/index-jobs', body, {
      'idempotency-key': key,
      ...(typeof body === 'string' && { 'content-type': type }),
    })
  const corpus = '{"id":"1","text":"amber"}\n'
  const first = await post(corpus, 'c1')
  t.equal(first.status, 202)
  const again = await post(corpus, 'c1')
  t.match(again, { status: 202, json: { id: first.json.id } })
  t.equal(again.headers.get('location'), `/v1/admin/index-jobs/${String(first.json.id)}`)
  t.match(await post('{"id":"2","text":"other"}\n', 'c1'), { status: 422 })
  await writeFile(join(dir, 'import', 'f.jsonl'), corpus)
  const named = await post({ source: 'f.jsonl' }, 'c2')
  t.match(await post({ source: 'f.jsonl' }, 'c2'), { status: 202, json: { id: named.json.id } })
  const form = () => {
    const made = new FormData()
    made.append('file', new Blob([corpus]), 'f.jsonl')
    return made
  }
  const sent = await post(form(), 'c3')
  t.match(await post(form(), 'c3'), { status: 202, json: { id: sent.json.id } })
  t.equal((await jobs.list()).length, 3)
  for (const { id } of await jobs.list()) await jobs.wait(id)
})
