import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { openKeys } from '../../../src/keys/keys.ts'
import { addKey } from '../../../src/keys/store.ts'
import { testApp } from '../helpers.ts'

const QUERY = 'capital of australia'
const DOCUMENTS = ['wages and taxes', 'Canberra is the capital of Australia', 'the capital of France']

interface Result {
  readonly index: number
  readonly relevance_score: number
}

t.test("documents in Cohere's and Jina's form come back in order, with their places", async (t) => {
  const { post } = await testApp(t)
  const { statusCode, body } = await post('/v1/rerank', { model: 'fake', query: QUERY, documents: DOCUMENTS })
  t.equal(statusCode, 200)
  const { results, model, usage } = JSON.parse(body) as { results: Result[]; model: string; usage: object }
  t.same(
    results.map(({ index }) => index),
    [1, 2, 0],
  )
  t.ok(results.every(({ relevance_score: score }) => score > 0 && score <= 1))
  t.match(model, /^fake@/)
  t.same(usage, { total_tokens: 30 })
  const two = await post('/v1/rerank', {
    query: QUERY,
    documents: [{ text: 'wages' }, { title: 'Australia', text: 'its capital' }],
    top_n: 1,
    return_documents: true,
  })
  t.match(two.json(), { results: [{ index: 1, document: { title: 'Australia', text: 'its capital' } }] })
  t.equal(two.json<{ results: Result[] }>().results.length, 1)
})

t.test("texts in text-embeddings-inference's form come back in order, with their scores", async (t) => {
  const { post } = await testApp(t)
  const ranked = (await post('/rerank', { query: QUERY, texts: DOCUMENTS, return_text: true, truncate: true })).json<
    { index: number; score: number; text: string }[]
  >()
  t.match(ranked, [{ index: 1, text: DOCUMENTS[1] }, { index: 2 }, { index: 0, text: DOCUMENTS[0] }])
  const raw = (await post('/rerank', { query: QUERY, texts: DOCUMENTS, raw_scores: true })).json<{ score: number }[]>()
  t.ok(raw.every(({ score }, i) => Math.abs(Math.exp(score) - (ranked[i]?.score ?? NaN)) < 1e-9))
  t.equal('text' in (raw[0] ?? {}), false)
})

t.test('what cannot be ordered is refused by name', async (t) => {
  const { post } = await testApp(t)
  const cases: [object, string][] = [
    [{ query: '', documents: DOCUMENTS }, 'query'],
    [{ query: QUERY }, 'documents'],
    [{ query: QUERY, documents: [] }, 'documents'],
    [{ query: QUERY, documents: Array.from({ length: 201 }, () => 'x') }, 'documents'],
    [{ query: QUERY, documents: ['x'.repeat(20_001)] }, 'documents.0'],
    [{ query: QUERY, documents: DOCUMENTS, rank_fields: ['author'] }, 'rank_fields.0'],
    [{ query: QUERY, documents: [null] }, 'documents.0'],
    [{ query: QUERY, documents: DOCUMENTS, texts: DOCUMENTS }, 'texts'],
    [{ query: QUERY, documents: DOCUMENTS, rank_fields: ['title'] }, 'rank_fields'],
    [{ query: QUERY, texts: DOCUMENTS }, 'texts'],
  ]
  const ofTexts: [object, string][] = [
    [{ query: QUERY, texts: DOCUMENTS, truncation_direction: 'Left' }, 'truncation_direction'],
    [{ query: QUERY, texts: DOCUMENTS, truncate: false }, 'truncate'],
    [{ query: QUERY, texts: DOCUMENTS, return_documents: true }, 'return_documents'],
    [{ query: QUERY, documents: DOCUMENTS, texts: DOCUMENTS }, 'texts'],
    [{ query: QUERY }, 'texts'],
  ]
  for (const [path, bodies] of [
    ['/v1/rerank', cases],
    ['/v2/rerank', cases],
    ['/rerank', ofTexts],
  ] as const)
    for (const [body, field] of bodies)
      t.match((await post(path, body)).json(), { error: { code: 'invalid_request', field } }, JSON.stringify(body).slice(0, 80))
  for (const body of [[], 'text', null]) t.equal((await post('/v2/rerank', JSON.stringify(body))).statusCode, 400)
  const unknown = await post('/v1/rerank', { model: 'rerank-v3.5', query: QUERY, documents: DOCUMENTS })
  t.match(
    { status: unknown.statusCode, body: unknown.json<object>() },
    { status: 404, body: { error: { code: 'not_found', field: 'model' } } },
  )
})

t.test('keys hold on the route outside of /v1 too', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-rerank-keys-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const key = await addKey(dir, { name: 'ann', role: 'user' })
  const keys = await openKeys({ dir, pollMs: 10 })
  t.teardown(() => keys.close())
  const { app, post } = await testApp(t, { keys })
  const body = { query: QUERY, documents: DOCUMENTS }
  for (const path of ['/rerank', '/v1/rerank', '/v2/rerank']) t.equal((await post(path, body)).statusCode, 401, path)
  const sent = await app.inject({ method: 'POST', url: '/rerank', headers: { authorization: `Bearer ${key}` }, payload: body })
  t.equal(sent.statusCode, 200)
})

t.test('each path has the form of its clients, /rerank both, answered in its own; null counts as absent', async (t) => {
  const { post } = await testApp(t)
  for (const path of ['/v1/rerank', '/v2/rerank', '/rerank']) {
    const documents = await post(path, { model: 'cepe', query: QUERY, documents: DOCUMENTS, top_n: 2, return_documents: null })
    t.match(documents.headers['content-type'], /^application\/json/)
    t.same(
      documents.json<{ results: Result[] }>().results.map(({ index }) => index),
      [1, 2],
      path,
    )
    t.match(documents.json(), { id: String, model: /^fake@/, usage: { total_tokens: 30 } })
  }
  const texts = await post('/rerank', { model: null, query: QUERY, texts: DOCUMENTS, top_n: 1, return_text: true, raw_scores: true })
  t.match(texts.json(), [{ index: 1, text: DOCUMENTS[1] }])
  t.equal(texts.json<object[]>().length, 1)
  t.ok((texts.json<{ score: number }[]>()[0]?.score ?? 1) < 0, 'raw scores are logarithms')
  const raw = (await post('/v1/rerank', { query: QUERY, documents: DOCUMENTS, raw_scores: true })).json<{ results: Result[] }>()
  t.ok(raw.results.every(({ relevance_score: score }) => score < 0))
})

t.test('documents whose letters are written in two parts score as those written in one', async (t) => {
  const { post } = await testApp(t)
  const scores = async (body: object) => (await post('/v1/rerank', body)).json<{ results: Result[] }>().results
  const documents = ['Caf\u00e9 is here', 'cafe', { title: 'Caf\u00e9', text: 'it' }]
  const expected = await scores({ query: 'Caf\u00e9', documents })
  const apart = JSON.parse(JSON.stringify({ query: 'Caf\u00e9', documents }).normalize('NFD')) as object
  t.same(await scores(apart), expected)
  t.not(expected[0]?.relevance_score, expected[2]?.relevance_score)
})

t.test('titles of documents are read, but for those of fields that are left out', async (t) => {
  const { post } = await testApp(t)
  const documents = [
    { title: 'capital of australia', text: 'wages' },
    { title: '', text: 'australia' },
  ]
  const first = async (more: object) =>
    (await post('/v1/rerank', { query: QUERY, documents, ...more })).json<{ results: Result[] }>().results[0]?.index
  t.equal(await first({}), 0)
  t.equal(await first({ rank_fields: ['title', 'text'] }), 0)
  t.equal(await first({ rank_fields: ['text'] }), 1)
  t.equal(await first({ documents: [{ text: 'wages', title: null }, { text: 'australia' }] }), 1)
})
