import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { CodedError } from '../../base/errors.ts'
import type { Services } from '../../src/service/services.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { until } from '../helpers/until.ts'
import { rawConnection, testApp, type ErrorBody } from './helpers.ts'

t.test('an answer over HTTP has every promised field', async (t) => {
  const { post } = await testApp(t)
  const response = await post('/v1/answer', { question: 'what is it', k: 3, k_decoder: 1 })
  t.equal(response.statusCode, 200)
  t.match(response.json(), {
    answer: 'yes',
    confidence: Number,
    finish_reason: 'stop',
    evidence: [
      { id: 'p0', title: 'T0', text: 'text 0', score: 10, rank: 1, role: 'decoder', attention: null },
      { role: 'encoder', attention: 0.5 },
      { role: 'encoder', attention: 0.5 },
    ],
    usage: { prompt_tokens: Number, context_tokens: 14, generated_tokens: 2 },
    timings_ms: { embed: Number, retrieve: Number, encode: 1, generate: 2, total: Number },
    model: { reader: /^fake@/, retriever: /^fake@/ },
    index: { table: 'passages', version: 3, passages: 6 },
  })
})

t.test('bad input is answered 400 with the field and the problem', async (t) => {
  const { post, asked } = await testApp(t)
  const cases: [unknown, string | undefined, RegExp][] = [
    [{}, 'question', /question is missing/],
    [{ question: '' }, 'question', /question must not be empty/],
    [{ question: ' \n ' }, 'question', /question must not be blank/],
    [{ question: 'x'.repeat(100_000) }, 'question', /question must not be longer than 4096/],
    [{ question: 5 }, 'question', /question must be string/],
    [{ question: 'q', k: 201 }, 'k', /k must be <= 200/],
    [{ question: 'q', k: -1 }, 'k', /k must be >= 0/],
    [{ question: 'q', k: 1.5 }, 'k', /k must be integer/],
    [{ question: 'q', k: '5' }, 'k', /k must be integer/],
    [{ question: 'q', mode: 'magic' }, 'mode', /mode must be one of cepe, decoder-only, map-rerank, experts, replug, closed-book/],
    [{ question: 'q', kk: 1 }, 'kk', /kk is not a known field/],
    [{ question: 'q', filter: { author: 'x' } }, 'filter.author', /filter\.author is not a known field/],
    [{ question: 'q', sampling: { temperature: 0, top_p: 1, seed: 1 } }, 'sampling.temperature', /must be >= 0.001/],
    [[], undefined, /The body must be object/],
    ['{"question": ', undefined, /JSON/],
  ]
  for (const [payload, field, message] of cases) {
    const response = await post('/v1/answer', payload)
    const { error } = response.json<ErrorBody>()
    t.equal(response.statusCode, 400, String(message))
    t.equal(error.code, 'invalid_request')
    t.equal(error.field, field)
    t.match(error.message, message)
  }
  t.same(asked.generate, [], 'nothing reached the reader')
})

t.test('a body over the limit is 413, another media type 415, an unknown route 404', async (t) => {
  const { app, post } = await testApp(t, {}, { BODY_LIMIT_KB: 1 })
  t.match((await post('/v1/answer', { question: 'x'.repeat(5000) })).json(), { error: { code: 'payload_too_large' } })
  const xml = await app.inject({ method: 'POST', url: '/v1/answer', headers: { 'content-type': 'text/xml' }, payload: '<q/>' })
  t.equal(xml.statusCode, 415)
  t.match(xml.json(), { error: { code: 'unsupported_media_type' } })
  const missing = await app.inject({ url: '/v2/answer' })
  t.equal(missing.statusCode, 404)
  t.match(missing.json(), { error: { code: 'not_found', request_id: String } })
})

t.test('a body over the limit is read to its end, for at most the time of any body, so that its client sees the response', async (t) => {
  const { app } = await testApp(t, {}, { BODY_LIMIT_KB: 1, REQUEST_TIMEOUT_MS: 500 })
  const url = await app.listen({ port: 0 })
  const body = ' '.repeat(2 ** 23)
  for (const [framing, sent] of [
    [`content-length: ${body.length}`, body],
    ['transfer-encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
    [`content-length: ${body.length + 1}`, body],
  ] as const)
    for (const path of ['/v1/answer', '/v1/chat/completions', '/v1/documents/answer', '/mcp']) {
      const client = await rawConnection(t, url)
      const { socket, closed } = client
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`)
      t.notOk(await new Promise((resolve) => void socket.write(sent, resolve)), `${path} takes ${framing}`)
      if (framing.endsWith('1')) await closed
      await until(() => client.received().startsWith('HTTP/1.1 413 '))
      socket.destroy()
    }
})

t.test('errors of the layers below keep their code; internal ones keep their secrets', async (t) => {
  const { services } = recordingServices()
  const failing = (error: Error): Partial<Services> => ({
    answering: { ...services, reader: { ...services.reader, answer: () => Promise.reject(error) } },
  })
  const overloaded = await testApp(t, failing(new CodedError('overloaded', 'The queue is full.', { retryAfterS: 3 })))
  const busy = await overloaded.post('/v1/answer', { question: 'q' })
  t.equal(busy.statusCode, 503)
  t.equal(busy.headers['retry-after'], '3')
  const broken = await testApp(t, failing(new Error('secret path /etc/shadow')))
  const response = await broken.post('/v1/answer', { question: 'q' })
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /shadow/)
  t.match(response.json(), { error: { code: 'internal' } })
})

t.test('health, readiness, metrics and documentation', async (t) => {
  const { app } = await testApp(t, { readiness: () => Promise.resolve([{ name: 'index', ok: false, detail: 'no table' }]) })
  t.equal((await app.inject('/healthz')).statusCode, 200)
  const ready = await app.inject('/readyz')
  t.equal(ready.statusCode, 503)
  t.match(ready.json(), { ready: false, checks: [{ name: 'index', ok: false, detail: 'no table' }] })
  t.match((await app.inject('/metrics')).body, /cepe_inference_ready\{role="reader"\} 1/)
  const openapi = (await app.inject('/docs/json')).json<{ paths: Record<string, unknown> }>()
  t.hasProps(openapi.paths, ['/v1/answer', '/v1/search', '/v1/score', '/healthz', '/readyz'])
})

t.test('search returns passages and says with what it searched', async (t) => {
  const { post } = await testApp(t)
  t.match((await post('/v1/search', { query: 'x', k: 2 })).json(), {
    passages: [
      { id: 'p0', rank: 1 },
      { id: 'p1', rank: 2 },
    ],
    model: { retriever: /^fake/ },
    index: { table: 'passages' },
  })
  t.match((await post('/v1/search', { query: 'x', k: 0 })).json(), { error: { field: 'k' } })
})

t.test('a rate limit answers 429', async (t) => {
  const { post } = await testApp(t, {}, { RATE_LIMIT: 2 })
  const codes: number[] = []
  for (let i = 0; i < 3; i++) codes.push((await post('/v1/search', { query: 'x' })).statusCode)
  t.same(codes, [200, 200, 429])
})

t.test('admin routes: off without a key, closed without the right one, open with it', async (t) => {
  const off = await testApp(t)
  const forbidden = await off.app.inject('/v1/admin/index-jobs')
  t.equal(forbidden.statusCode, 403)
  t.match(forbidden.json(), { error: { code: 'forbidden', message: /CEPE_ADMIN_KEY/ } })
  const { app } = await testApp(t, {}, { ADMIN_KEY: 'correct horse battery' })
  const get = (authorization?: string) =>
    app.inject({ url: '/v1/admin/index-jobs', headers: authorization === undefined ? {} : { authorization } })
  t.equal((await get()).statusCode, 401)
  t.equal((await get('Bearer wrong')).statusCode, 401)
  t.equal((await get('Bearer correct horse battery')).statusCode, 200)
})

t.test('a client that stays is never taken for one that left, one that leaves is noticed', async (t) => {
  const { services } = recordingServices()
  const signals: AbortSignal[] = []
  const reader = {
    ...services.reader,
    answer: async (...args: Parameters<typeof services.reader.answer>) => {
      const signal = args[1]?.signal
      if (signal) signals.push(signal)
      await setTimeout(args[0].question.length > 50 ? 60_000 : 50, undefined, { ...(signal && { signal }) })
      return services.reader.answer(...args)
    },
  }
  const { app } = await testApp(t, { answering: { ...services, reader } })
  const url = await app.listen({ port: 0 })
  const ask = (question: string, signal?: AbortSignal) =>
    fetch(`${url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ question }),
      ...(signal && { signal }),
    })
  t.equal((await ask('short')).status, 200)
  t.equal(signals[0]?.aborted, false)

  const leaving = new AbortController()
  const left = t.rejects(ask('long '.repeat(60), leaving.signal))
  while (signals.length < 2) await setTimeout(5)
  leaving.abort()
  await left
  while (signals[1]?.aborted !== true) await setTimeout(5)
})

t.test('a path that is no path gets the same kind of error', async (t) => {
  const { app } = await testApp(t)
  t.match((await app.inject(`/v1/passages/${'x'.repeat(5000)}`)).json(), { error: { code: 'invalid_request', request_id: String } })
  t.match((await app.inject('/v1/passages/%zz')).json(), { error: { code: 'invalid_request' } })
})
