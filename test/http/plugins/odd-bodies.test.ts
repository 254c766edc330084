import t from 'tap'
import { halfPairIn } from '../../../base/json.ts'
import { testApp, type ErrorBody } from '../helpers.ts'

const KEY = 'an admin key of a test'
const admin = { authorization: `Bearer ${KEY}` }
const JSON_TYPE = { 'content-type': 'application/json' }

t.test('what is not valid JSON is said with its place; text of another encoding is never taken for UTF-8', async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const put = async (payload: string | Buffer, url = '/v1/passages', type = 'application/json') => {
    const response = await app.inject({ method: 'PUT', url, headers: { ...admin, 'content-type': type }, payload })
    return { status: response.statusCode, ...response.json<ErrorBody>().error }
  }
  t.match(await put('{"passages": [}'), { status: 400, code: 'invalid_request', message: /not valid JSON \(.+\)/ })
  t.match(await put(''), { status: 400, message: /is empty/ })
  t.match(await put('{"passages":[{"id":"a","title":"","text":"x","metadata":{"__proto__":1}}]}'), { message: /__proto__/ })
  const latin = Buffer.from('{"passages":[{"id":"a","title":"Malmö","text":"x"}]}', 'latin1')
  t.match(await put(latin), { status: 400, code: 'invalid_request', message: /not UTF-8/ })
  t.match(await put(latin, '/v1/passages', 'application/json; charset=iso-8859-1'), { status: 415, message: /charset iso-8859-1/ })
  const lines = await app.inject({
    method: 'POST',
    url: '/v1/answers',
    headers: { 'content-type': 'application/x-ndjson' },
    payload: latin,
  })
  t.match(lines.json(), { error: { message: /not UTF-8/ } })

  const marked = await app.inject({ method: 'POST', url: '/v1/answer', headers: JSON_TYPE, payload: '\ufeff{"question": "q"}' })
  t.equal(marked.statusCode, 200, 'a byte order mark is none of the text')
})

t.test('a content type that names another encoding than UTF-8 is refused: its letters would be others', async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const send = (method: 'POST' | 'PUT', url: string, type: string, payload: string) =>
    app.inject({ method, url, headers: { ...admin, 'content-type': type }, payload })
  const question = '{"question": "Ã©"}'
  for (const [method, url, payload] of [
    ['POST', '/v1/answer', question],
    ['POST', '/v1/answers', `{"questions": [${question}]}`],
    ['PUT', '/v1/passages', '{"passages": [{"id": "1", "title": "", "text": "Ã©"}]}'],
    ['POST', '/v1/chat/completions', '{"model": "fake", "messages": [{"role": "user", "content": "Ã©"}]}'],
  ] as const)
    for (const charset of ['utf-16', 'ISO-8859-1', '"latin1"']) {
      const refused = await send(method, url, `application/json; Charset=${charset}`, payload)
      t.equal(refused.statusCode, 415, `${url} ${charset}`)
      t.match(refused.json(), { error: { message: `The charset ${charset.replaceAll('"', '')} is not supported: send UTF-8.` } })
    }
  const lines = await send('POST', '/v1/answers', 'application/x-ndjson;charset=utf-16', question)
  t.equal(lines.statusCode, 415, lines.body)
  for (const charset of ['utf-8', 'UTF8', '"utf-8"', 'us-ascii'])
    t.equal((await send('POST', '/v1/answer', `application/json; charset=${charset}`, '{"question": "a"}')).statusCode, 200, charset)
})

t.test('a body whose type is empty has none', async (t) => {
  const { app } = await testApp(t, {}, {})
  for (const type of ['', ' ']) {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/answer',
      headers: { 'content-type': type },
      payload: '{"question": "q"}',
    })
    t.equal(response.statusCode, 415)
    t.match(response.json(), { error: { message: 'The body has no content-type: send application/json.' } })
  }
})

t.test('a name that an object holds twice is refused wherever JSON comes in: one value would be lost', async (t) => {
  const { app, post } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const send = (url: string, payload: string, type = 'application/json') =>
    app.inject({ method: url === '/v1/passages' ? 'PUT' : 'POST', url, headers: { ...admin, 'content-type': type }, payload })
  for (const [url, body, field] of [
    ['/v1/answer', '{"question": "a", "question": "b"}', 'question'],
    ['/v1/answer', '{"question": "a", "filter": {"source": "x", "source": "y"}}', 'filter.source'],
    ['/v1/answer', '{"question": "a", "filter": {"source": "x"}, "filter": {"source": "y"}}', 'filter'],
    [
      '/v1/answer',
      '{"question": "[{", "passages": [{"title": "", "text": "x"}, {"title": "],", "text": "x", "text": "y"}]}',
      'passages.1.text',
    ],
    ['/v1/answer', '{"question": "a", "demonstrations": [{"a": [[1, 2], {"b": [], "b": 1}]}]}', 'demonstrations.0.a.1.b'],
    ['/v1/answer', '{"question": "a", "quest\\u0069on": "b"}', 'question'],
    ['/v1/answer', '{"question": "\\"a\\": b", "\\u006B": 1, "k": 2}', 'k'],
    ['/v1/answers', '{"questions": [{"question": "a", "k": 1, "k": 2}]}', 'questions.0.k'],
    ['/v1/passages', '{"passages": [{"id": "1", "title": "", "text": "x", "text": "y"}]}', 'passages.0.text'],
    ['/v1/chat/completions', '{"model": "fake", "messages": [{"role": "user", "content": "q", "content": "r"}]}', 'messages.0.content'],
  ] as const) {
    const response = await send(url, body)
    t.equal(response.statusCode, 400, url)
    const named = url === '/v1/chat/completions' ? { param: field } : { field }
    t.match(response.json(), { error: { message: `${field} is set twice: set it once.`, ...named } }, url)
  }
  const lines = await send('/v1/answers', '{"question": "a", "k": 1, "k": 2}\n{"question": "k \\"k\\": k"}\n', 'application/x-ndjson')
  t.match(
    lines.body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    [{ status: 400, error: { message: /Line 1: k is set twice/ } }, { status: 200 }],
  )
  t.equal(
    (await post('/v1/answer', { question: 'q', passages: [{ title: '', text: '{"a": 1, "a": 2}' }] })).statusCode,
    200,
    'a text is none',
  )
})

t.test('a type without a body is no mistake where no body is asked for', async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const missing = await app.inject({ method: 'DELETE', url: '/v1/passages/none', headers: { ...admin, ...JSON_TYPE } })
  t.match(missing.json(), { error: { code: 'index_missing' } }, 'it was looked for')
  const resumed = await app.inject({
    method: 'POST',
    url: '/v1/admin/index-jobs/20261122T120000000-abcd/resume',
    headers: { ...admin, ...JSON_TYPE },
  })
  t.match(resumed.json(), { error: { code: 'not_found' } })
})

t.test('of many alternatives the nearest one speaks, also where the first ones have a lot to object', async (t) => {
  const { post } = await testApp(t)
  const problem = async (filter: object) => (await post('/v1/search', { query: 'q', filter })).json<ErrorBody>().error
  t.match(await problem({ metadata: { public: { gt: false } } }), {
    field: 'filter.metadata.public.gt',
    message: /gt must be number or string/,
  })
  t.match(await problem({ metadata: { lang: { in: ['en', {}] } } }), { field: 'filter.metadata.lang.in.1' })
})

t.test('paths that no route can have are named, and not repeated', async (t) => {
  const { app } = await testApp(t)
  t.match((await app.inject({ url: '/v1/passages/%zz' })).json(), { error: { code: 'invalid_request', message: /percent/ } })
  const { error } = (await app.inject({ url: `/v1/passages/${'i'.repeat(5000)}` })).json<ErrorBody>()
  t.match(error, { code: 'invalid_request', message: /512 bytes/ })
  t.ok(error.message.length < 200)
})

t.test('a passage is found under the id that it was sent with; those without a source under an empty one', async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const ask = async (method: 'GET' | 'PUT' | 'DELETE' | 'POST', url: string, payload?: object) =>
    (await app.inject({ method, url, headers: admin, ...(payload && { payload }) })).json<Record<string, unknown>>()
  const passages = ['\ufeffmarked', 'plain'].map((id) => ({ id, title: 't', text: `text of ${id}` }))
  t.match(await ask('PUT', '/v1/passages', { passages }), { upserted: 2 })
  t.match(await ask('PUT', '/v1/passages', { passages: [{ id: 'sourced', title: '', text: 'x', source: 's' }] }), { upserted: 1 })
  const url = `/v1/passages/${encodeURIComponent('\ufeffmarked')}`
  t.match(await ask('GET', url), { id: 'marked' })
  t.match(await ask('GET', '/v1/admin/sources'), { sources: [{ source: '', passages: 2 }, { source: 's' }] })
  t.match(await ask('GET', '/v1/admin/passages?source='), { passages: [{ id: 'marked' }, { id: 'plain' }], next: null })
  t.match(await ask('DELETE', url), { deleted: 1 })
  t.match(await ask('POST', '/v1/passages/delete', { ids: ['\ufeffplain'] }), { deleted: 1 })
})

t.test('a question of a chat is counted in characters, as every other', async (t) => {
  const { post } = await testApp(t)
  const ask = (content: string) => post('/v1/chat/completions', { model: 'fake', messages: [{ role: 'user', content }] })
  t.not((await ask('😀'.repeat(4096))).statusCode, 400)
  t.match((await ask('😀'.repeat(4097))).json(), { error: { param: 'messages', message: /has 4097 characters/ } })
})

t.test('what clients of OpenAI write as null is not set', async (t) => {
  const { post } = await testApp(t)
  const response = await post('/v1/embeddings', { model: 'fake', input: 'a', encoding_format: null, dimensions: null })
  t.match(response.json(), { data: [{ embedding: [Number, Number] }] })
})

t.test('a body of many levels is refused on each route, whatever it is made of', async (t) => {
  const { app, post } = await testApp(t)
  const nested = (open: string, close: string, levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`
  for (const deep of [nested('[', ']', 20_000), nested('{"anyOf":[', ']}', 10_000), nested('{"a":"\\ud800","b":', '}', 20_000)])
    for (const [url, body] of [
      ['/v1/answer', `{"question":"q","filter":${deep}}`],
      ['/v1/answers', `{"questions":[${deep}]}`],
      ['/v1/rerank', `{"query":"q","documents":${deep}}`],
      ['/rerank', `{"query":"q","texts":["a"],"user":${deep}}`],
      ['/v1/embeddings', `{"model":"fake","input":${deep}}`],
      ['/v1/responses', `{"model":"fake","input":"q","metadata":${deep}}`],
      ['/v1/chat/completions', `{"model":"fake","messages":[],"response_format":{"type":"json_schema","json_schema":{"schema":${deep}}}}`],
      ['/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${deep}}`],
    ] as const) {
      const response = await post(url, body)
      t.equal(response.statusCode, 400, url)
      t.match(response.json(), { error: { code: 'invalid_request', message: /more than 100 levels/ } }, url)
    }
  const lines = `${['[', '{"b":'].map((open) => `{"question":"q","filter":${open.repeat(20_000)}"\\ud800"${(open === '[' ? ']' : '}').repeat(20_000)}}`).join('\n')}\n`
  const headers = { 'content-type': 'application/x-ndjson' }
  const batch = await app.inject({ method: 'POST', url: '/v1/answers', headers, payload: lines })
  const items = batch.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  t.match(
    items,
    Array.from({ length: 2 }, () => ({ status: 400, error: { message: /more than 100 levels/ } })),
  )
  const started = performance.now()
  const half = halfPairIn(JSON.parse(`${'{"b":'.repeat(100_000)}"\\ud800"${'}'.repeat(100_000)}`))
  t.ok(half?.startsWith('b.b.') && performance.now() - started < 5000, 'a path is made once, not at each level')
  const within = await post('/v1/responses', `{"model":"fake","input":"q","metadata":${nested('[', ']', 99)}}`)
  t.equal(within.statusCode, 200)
})

t.test('an unknown field is named as such, among however many', async (t) => {
  const { post } = await testApp(t)
  for (const count of [1, 63, 64, 65, 1000]) {
    const unknown = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]))
    const response = await post('/v1/answer', { question: 'q', ...unknown })
    t.match(response.json(), { error: { field: 'k0', message: /^k0 is not a known field/ } }, String(count))
  }
})

t.test('an integer that JSON rounds is no seed', async (t) => {
  const { post } = await testApp(t)
  const asked = (seed: string) => post('/v1/chat/completions', `{"model":"fake","messages":[{"role":"user","content":"q"}],"seed":${seed}}`)
  for (const seed of ['9007199254740991', '-9007199254740991', '-0']) t.equal((await asked(seed)).statusCode, 200, seed)
  for (const seed of ['9007199254740993', '1e30', '1e400', '1.5']) {
    const response = await asked(seed)
    t.equal(response.statusCode, 400, seed)
    t.match(response.json(), { error: { param: 'seed' } }, seed)
  }
})
