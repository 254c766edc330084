import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { CodedError } from '../../../base/errors.ts'
import type { PassageIndex } from '../../../index/open.ts'
import { packageRoot } from '../../../src/package.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { parseRaw, rawConnection, testApp, type ErrorBody } from '../helpers.ts'

const KEY = 'correct horse battery'

t.test('what is no request, or not a whole one, is refused in the documented shape', async (t) => {
  const { app } = await testApp(t)
  const url = await app.listen({ port: 0 })
  const cases: [string, number, string][] = [
    ['NONSENSE\r\n\r\n', 400, 'invalid_request'],
    ['GET /healthz HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
    [`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nExpect: a-miracle\r\ncontent-length: 0\r\n\r\n', 417, 'expectation_failed'],
  ]
  for (const [text, status, code] of cases) {
    const connection = await rawConnection(t, url)
    connection.socket.write(text)
    while (!connection.received().includes('}}')) await setTimeout(5)
    t.match(
      parseRaw(connection.received()),
      { status, headers: /x-request-id: [\w-]{36}/, error: { code, message: String, request_id: String } },
      text.slice(0, 30),
    )
    connection.socket.destroy()
  }
})

t.test('headers, bodies and uploads that do not arrive are given up', async (t) => {
  const { app } = await testApp(t, {}, { REQUEST_TIMEOUT_MS: 300, UPLOAD_IDLE_MS: 300, ADMIN_KEY: KEY })
  const url = await app.listen({ port: 0 })
  const headers = await rawConnection(t, url)
  headers.socket.write('GET /healthz HTTP/1.1\r\nHo')
  const json = await rawConnection(t, url)
  json.socket.write('POST /v1/answer HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n')
  const upload = await rawConnection(t, url)
  upload.socket.write(
    `POST /v1/admin/index-jobs HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/x-ndjson\r\ncontent-length: 5000\r\n\r\n{"id`,
  )
  const refused = await rawConnection(t, url)
  refused.socket.write(
    'POST /v1/admin/index-jobs HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: 5000\r\n\r\n{',
  )
  const trickle = setInterval(() => {
    if (json.received() === '') json.socket.write(' ')
    if (refused.socket.writable) refused.socket.write(' ')
  }, 20)
  t.teardown(() => clearInterval(trickle))
  await Promise.all([headers.closed, json.closed, upload.closed, refused.closed])
  for (const connection of [headers, json, upload])
    t.match(parseRaw(connection.received()), { status: 408, error: { code: 'request_timeout' } })
  t.match(parseRaw(refused.received()), { status: 401, error: { code: 'unauthorized' } })
})

t.test('an upload may take longer than the pause allowed in it', async (t) => {
  const { app, services } = await testApp(t, {}, { REQUEST_TIMEOUT_MS: 100, UPLOAD_IDLE_MS: 2_000, ADMIN_KEY: KEY })
  const url = await app.listen({ port: 0 })
  const line = '{"id": "1", "title": "", "text": "a passage"}\n'
  const upload = await rawConnection(t, url)
  upload.socket.write(
    `POST /v1/admin/index-jobs HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${line.length}\r\n\r\n`,
  )
  for (const part of [line.slice(0, 10), line.slice(10)]) {
    await setTimeout(300)
    upload.socket.write(part)
  }
  while (!upload.received().includes('\r\n\r\n')) await setTimeout(5)
  t.match(upload.received(), /^HTTP\/1\.1 202 /)
  for (const { id } of await services.jobs.list()) await services.jobs.wait(id)
})

t.test("bodies of another type, broken forms and other methods are the client's mistakes", async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: KEY, BODY_LIMIT_KB: 1 })
  const send = async (method: 'POST' | 'PUT' | 'GET', url: string, type: string | undefined, payload?: string) => {
    const headers = { authorization: `Bearer ${KEY}`, ...(type !== undefined && { 'content-type': type }) }
    const response = await app.inject({ method, url, headers, ...(payload !== undefined && { payload }) })
    return { status: response.statusCode, allow: response.headers.allow, error: response.json<ErrorBody>().error }
  }
  const jobs = '/v1/admin/index-jobs'
  t.match(await send('POST', '/v1/answer', 'text/plain', 'who'), {
    status: 415,
    error: { code: 'unsupported_media_type', message: 'The media type text/plain is not supported: send application/json.' },
  })
  t.match(await send('POST', jobs, 'text/plain', 'who'), { status: 415, error: { message: /multipart\/form-data.*application\/x-ndjson/ } })
  t.match(await send('POST', '/v1/answer', 'application/json', `{"question": "${'x'.repeat(2000)}"}`), {
    status: 413,
    error: { message: /larger than the 1024 bytes/ },
  })
  t.match(await send('POST', jobs, 'multipart/form-data', 'x'), { status: 400, error: { code: 'invalid_request' } })
  const cut = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.tsv"\r\n\r\nid\ttext\n1'
  t.match(await send('POST', jobs, 'multipart/form-data; boundary=b', cut), { status: 400, error: { code: 'invalid_request' } })
  t.match(await send('POST', jobs, 'application/json', '{"source": "x.tsv"}'), { status: 403, error: { field: 'source' } })
  t.match(await send('PUT', '/v1/answer', 'text/xml', '<q/>'), { status: 405, allow: 'POST', error: { code: 'method_not_allowed' } })
  t.match(await send('POST', '/v1/passages/1', undefined), { status: 405, allow: 'DELETE, GET, HEAD' })
  t.match(await send('GET', '/v2/answer', undefined), { status: 404, allow: undefined, error: { code: 'not_found' } })
})

t.test('what may be done instead is said in headers', async (t) => {
  const { app, services } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const headers = { authorization: `Bearer ${KEY}` }
  const packed = await app.inject({
    method: 'POST',
    url: '/v1/answer',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    payload: gzipSync('{"question": "q"}'),
  })
  t.match(packed.json(), {
    error: { code: 'unsupported_media_type', field: 'content-encoding', message: /Compressed request bodies are not supported/ },
  })
  t.match([packed.statusCode, packed.headers['accept-encoding']], [415, 'identity'])
  for (const [url, type, coding] of [
    ['/v1/documents/answer', 'application/json', 'gzip'],
    ['/v1/documents/answer', 'multipart/form-data; boundary=b', 'gzip'],
    ['/v1/admin/index-jobs', 'multipart/form-data; boundary=b', 'gzip'],
    ['/v1/admin/index-jobs', 'application/json', 'gzip'],
    ['/v1/admin/index-jobs', 'text/csv', 'br'],
  ] as const) {
    const sent = { ...headers, 'content-type': type, 'content-encoding': coding }
    const refused = await app.inject({ method: 'POST', url, headers: sent, payload: gzipSync('{}') })
    t.match([refused.statusCode, refused.json()], [415, { error: { field: 'content-encoding' } }], `${url} ${type}`)
  }
  t.equal((await app.inject({ url: '/healthz', headers: { 'content-encoding': 'gzip' } })).statusCode, 200, 'no body, nothing packed')
  const [id, deletion] = await Promise.all(['/v1/passages/1', '/v1/passages/delete'].map((url) => app.inject({ method: 'PATCH', url })))
  t.same([id?.statusCode, id?.headers.allow], [405, 'DELETE, GET, HEAD'])
  t.same([deletion?.statusCode, deletion?.headers.allow], [405, 'DELETE, GET, HEAD, POST'], 'of all routes that it may be')

  let read = 0
  const index: PassageIndex = {
    ...services.index,
    close: () => undefined,
    version: () => Promise.resolve({ table: 'passages', version: 1, passages: 1 }),
    // oxlint-disable-next-line typescript/require-await -- an export whose passages are there at once
    export: async function* () {
      read++
      yield { id: '1', title: '', text: 'x' }
    },
  }
  const other = await testApp(t, { index }, { ADMIN_KEY: KEY })
  const url = '/v1/admin/passages/export'
  const head = await other.app.inject({ method: 'HEAD', url, headers })
  t.match([head.statusCode, head.headers['content-type'], head.body], [200, 'application/x-ndjson; charset=utf-8', ''])
  t.equal(read, 0, 'nothing is read for HEAD')
  t.equal((await other.app.inject({ url, headers })).body, '{"id":"1","title":"","text":"x","source":""}\n')
})

t.test('refusals that waiting helps against say how long, whoever made them', async (t) => {
  const { services } = recordingServices()
  for (const code of ['overloaded', 'not_ready', 'rate_limited'] as const) {
    const reader = { ...services.reader, answer: () => Promise.reject(new CodedError(code, 'not now')) }
    const { post } = await testApp(t, { answering: { ...services, reader } })
    for (const [url, body] of [
      ['/v1/answer', { question: 'q' }],
      ['/v1/chat/completions', { model: 'fake', messages: [{ role: 'user', content: 'q' }] }],
    ] as const)
      t.match((await post(url, body)).headers['retry-after'], /^\d+$/, `${code} ${url}`)
  }
  const { app } = await testApp(t, { readiness: () => Promise.resolve([{ name: 'reader', ok: false, detail: 'loading' }]) })
  t.match((await app.inject('/readyz')).headers['retry-after'], /^\d+$/)
  const limited = await testApp(t, {}, { RATE_LIMIT: 1 })
  await limited.app.inject('/v1/info')
  t.match((await limited.app.inject('/v1/info')).headers['retry-after'], /^\d+$/)
})

t.test('the problem of an alternative is named by the one that was meant', async (t) => {
  const { app, post } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const cases: [unknown, string, RegExp][] = [
    [{ question: 'q', demonstrations: [{ question: 'x' }] }, 'demonstrations.0.answer', /demonstrations\.0\.answer is missing/],
    [{ question: 'q', demonstrations: 99 }, 'demonstrations', /must be <= 16/],
    [{ question: 'q', demonstrations: 'two' }, 'demonstrations', /must be integer or array/],
    [{ question: 'q', encoder_passages: 'none' }, 'encoder_passages', /must be one of others, all/],
    [{ question: 'q', collection: '1x' }, 'collection', /must be 1 to 64 letters, digits, "-" and "_", a letter first/],
    [{ question: 'q', filter: { source: [''] } }, 'filter.source.0', /must not be empty/],
  ]
  for (const [payload, field, message] of cases) t.match((await post('/v1/answer', payload)).json(), { error: { field, message } })
  const remove = async (payload: unknown) =>
    (
      await app.inject({
        method: 'POST',
        url: '/v1/passages/delete',
        headers: { authorization: `Bearer ${KEY}` },
        payload: payload as object,
      })
    ).json<ErrorBody>().error
  t.match(await remove({}), { message: /The body must have ids or filter/ })
  t.match(await remove({ ids: [] }), { field: 'ids', message: /ids must not be empty/ })
  t.match(await remove({ ids: ['a'], filter: {} }), { message: /must not have filter and ids together/ })
  t.match(await remove({ filter: { author: 'x' } }), { field: 'filter.author', message: /not a known field/ })
})

t.test('answers of 5xx and readiness carry no folder names', async (t) => {
  const { services } = recordingServices()
  const folder = `${packageRoot()}/models/built/reader`
  const reader = {
    ...services.reader,
    answer: () =>
      Promise.reject(new CodedError('not_ready', `No reader: ${folder}/weights.bin, /srv/secret/place and "/opt/x y/z" are gone.`)),
  }
  const readiness = () => Promise.resolve([{ name: 'reader', ok: false, detail: `${folder} is damaged` }])
  const { app, post } = await testApp(t, { answering: { ...services, reader }, readiness })
  const { message } = (await post('/v1/answer', { question: 'q' })).json<ErrorBody>().error
  t.match(message, /No reader: \$CEPE_READER_DIR\/weights\.bin/)
  for (const text of [message, (await app.inject('/readyz')).body]) t.notMatch(text, /built|srv|secret|opt/)
})

t.test('wrong keys are counted, with a rate limit and without; probes never are', async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: KEY })
  const ask = (key: string, remoteAddress: string) =>
    app.inject({ url: '/v1/admin/index-jobs', headers: { authorization: `Bearer ${key}` }, remoteAddress })
  const statuses = new Map<number, number>()
  for (let i = 0; i < 40; i++) {
    const { statusCode } = await ask(`wrong ${i}`, '10.0.0.1')
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
  }
  t.same(
    [...statuses],
    [
      [401, 30],
      [429, 10],
    ],
  )
  t.equal((await ask(KEY, '10.0.0.1')).statusCode, 200, 'a right key is none of them')
  t.equal((await ask(KEY, '10.0.0.2')).statusCode, 200)

  const limited = await testApp(t, {}, { ADMIN_KEY: KEY, RATE_LIMIT: 2 })
  const codes: number[] = []
  for (let i = 0; i < 3; i++)
    codes.push((await limited.app.inject({ url: '/v1/admin/index', headers: { authorization: 'Bearer x' } })).statusCode)
  t.same(codes, [401, 401, 429])
  t.equal((await limited.app.inject('/v2/none')).statusCode, 429, 'unknown routes count too')
  for (let i = 0; i < 5; i++) t.equal((await limited.app.inject('/healthz?from=balancer')).statusCode, 200)
})

t.test('behind a trusted proxy every client has a limit of its own', async (t) => {
  const { app } = await testApp(t, {}, { RATE_LIMIT: 1, TRUST_PROXY: '1' })
  const from = async (client: string) =>
    (await app.inject({ url: '/metrics', headers: { 'x-forwarded-for': `1.2.3.4, ${client}` } })).statusCode
  t.same([await from('10.1.1.1'), await from('10.1.1.1'), await from('10.1.1.2')], [200, 429, 200])
})
