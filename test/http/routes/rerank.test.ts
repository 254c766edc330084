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
    [{ query: QUERY, documents: DOCUMENTS, rank_fields: ['text'] }, 'rank_fields'],
  ]
  for (const [body, field] of cases)
    t.match((await post('/v1/rerank', body)).json(), { error: { code: 'invalid_request', field } }, JSON.stringify(body).slice(0, 80))
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
  const body = { query: QUERY, texts: DOCUMENTS }
  t.equal((await post('/rerank', body)).statusCode, 401)
  const sent = await app.inject({ method: 'POST', url: '/rerank', headers: { authorization: `Bearer ${key}` }, payload: body })
  t.equal(sent.statusCode, 200)
})
