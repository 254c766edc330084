import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { readinessOf } from '../../../src/service/health.ts'
import { openKeys } from '../../../src/keys/keys.ts'
import { createQuotas } from '../../../src/keys/quota.ts'
import { addKey, revokeKey } from '../../../src/keys/store.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { until } from '../../helpers/until.ts'
import { testApp } from '../helpers.ts'

const SETTING = 'correct horse battery'

/** The application with keys of a test's own, and what they are. */
async function withKeys(t: Test, wanted: readonly Parameters<typeof addKey>[1][], settings: Record<string, unknown> = {}) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-access-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const made: Record<string, string> = {}
  for (const one of wanted) made[one.name] = await addKey(dir, one)
  const keys = await openKeys({ dir, pollMs: 10 })
  t.teardown(() => keys.close())
  const quotas = await createQuotas({ dir, keys })
  t.teardown(() => quotas.close())
  const { services } = recordingServices()
  const answering = { ...services, admission: quotas.around(services.admission) }
  const { app } = await testApp(t, { keys, answering, readiness: () => readinessOf({ keys }) }, settings)
  const send = (url: string, key?: string, payload?: object) =>
    app.inject({
      method: payload === undefined ? 'GET' : 'POST',
      url,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      ...(payload && { payload }),
    })
  const ask = (key?: string, url = '/v1/answer') => send(url, key, { question: 'q', query: undefined })
  return { app, dir, made, send, ask }
}

t.test('without user keys questions are open, whatever key a client sends', async (t) => {
  const { ask, send, made } = await withKeys(t, [{ name: 'root', role: 'admin' }])
  t.equal((await ask()).statusCode, 200)
  t.equal((await ask('unused')).statusCode, 200)
  t.equal((await send('/v1/admin/index-jobs')).statusCode, 401)
  t.equal((await send('/v1/admin/index-jobs', made['root'])).statusCode, 200)
})

t.test('with user keys the routes under /v1 need one; probes, the page and the metrics do not', async (t) => {
  const { app, dir, ask, send, made } = await withKeys(
    t,
    [
      { name: 'ann', role: 'user' },
      { name: 'root', role: 'admin' },
    ],
    {
      ADMIN_KEY: SETTING,
    },
  )
  for (const url of ['/v1/info', '/v1/models', '/v1/passages/x'])
    t.match((await send(url)).json(), { error: { message: /needs a key: send it as Authorization: Bearer/ } }, url)
  t.match((await ask()).json(), { error: { code: 'unauthorized', request_id: String } })
  t.match((await ask('wrong')).json(), { error: { code: 'unauthorized', message: /unknown or revoked/ } })
  t.match(
    (await send('/v1/chat/completions', 'wrong', { model: 'fake', messages: [{ role: 'user', content: 'q' }] })).json(),
    { error: { type: 'authentication_error', code: 'unauthorized' } },
    "OpenAI's shape there",
  )
  for (const url of ['/', '/healthz', '/readyz', '/metrics', '/docs/json']) t.equal((await send(url)).statusCode, 200, url)
  for (const key of [made['ann'], made['root'], SETTING]) t.equal((await ask(key)).statusCode, 200)
  t.equal((await app.inject({ method: 'POST', url: '/v1/nothing' })).statusCode, 404)

  t.match((await send('/v1/admin/index-jobs', made['ann'])).json(), { error: { code: 'forbidden', message: /ann is a user's/ } })
  for (const key of [made['root'], SETTING]) t.equal((await send('/v1/admin/index-jobs', key)).statusCode, 200)

  await revokeKey(dir, 'ann')
  await until(async () => (await ask(made['ann'])).statusCode !== 200)
  t.equal((await ask(made['ann'])).statusCode, 401, 'a revoked key is none, without a restart')
})

t.test('who has no good key is told which kind is wanted (RFC 9110, section 11.6.1)', async (t) => {
  const { app, ask, send } = await withKeys(t, [{ name: 'ann', role: 'user' }], { ADMIN_KEY: SETTING })
  const challenge = async (answered: ReturnType<typeof ask>) => {
    const { statusCode, headers } = await answered
    return [statusCode, headers['www-authenticate']]
  }
  const chat = { model: 'fake', messages: [{ role: 'user', content: 'q' }] }
  for (const [url, body] of [['/v1/info'], ['/v1/answer', {}], ['/v1/chat/completions', chat], ['/v1/admin/index-jobs']] as const) {
    t.same(await challenge(send(url, undefined, body)), [401, 'Bearer realm="cepe-qa"'], url)
    t.same(await challenge(send(url, 'wrong', body)), [401, 'Bearer realm="cepe-qa", error="invalid_token"'], url)
  }
  t.same(await challenge(ask(SETTING)), [200, undefined])
  const { paths } = (await app.inject('/docs/json')).json<{
    paths: Record<string, Record<string, { security?: object; responses: Record<string, { headers?: object }> }>>
  }>()
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { security, responses }] of Object.entries(methods)) {
      const ofAdmins = path.startsWith('/v1/admin/') || (/^\/v1\/(passages|collections)/.test(path) && method !== 'get')
      if (path.startsWith('/v1/')) t.same(security, ofAdmins ? [{ adminKey: [] }] : [{}, { userKey: [] }], `${method} ${path}`)
      for (const [status, header] of [
        ['401', 'www-authenticate'],
        ['429', 'retry-after'],
      ] as const)
        if (path.startsWith('/v1/')) t.hasProp(responses[status]?.headers ?? {}, header, `${method} ${path} ${status}`)
    }
})

t.test('wrong keys count against wrong keys alone', async (t) => {
  const { app, made } = await withKeys(t, [{ name: 'ann', role: 'user' }], { ADMIN_KEY: SETTING })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const send = (key?: string, url = '/v1/info') =>
    fetch(address + url, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })
  const statuses: number[] = []
  for (let i = 0; i < 32; i++) statuses.push((await send(`guess ${i}`, i % 2 === 0 ? '/v1/info' : '/v1/admin/index')).status)
  t.same(statuses, [...Array<number>(30).fill(401), 429, 429])
  t.match((await send('guess')).headers.get('retry-after'), /^\d+$/)
  t.equal((await send(made['ann'])).status, 200, 'a good key of the same address')
  t.equal((await send(SETTING, '/v1/admin/index-jobs')).status, 200, "the admin's too")
  t.equal((await send(made['ann'], '/v1/admin/index-jobs')).status, 403, "a user's key is no wrong one")
  t.equal((await send()).status, 401, 'no key is no wrong key')
})

t.test('a key is revoked while the file of another is damaged; readiness and a metric tell of it and name nobody', async (t) => {
  const { app, dir, made } = await withKeys(t, [
    { name: 'ann', role: 'user' },
    { name: 'bob', role: 'user' },
    { name: 'carl', role: 'user' },
  ])
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const statusOf = async (name: string) =>
    (await fetch(`${address}/v1/info`, { headers: { authorization: `Bearer ${made[name]}` } })).status
  const unreadable = async () => /^cepe_keys_unreadable (\d+)$/m.exec(await (await fetch(`${address}/metrics`)).text())?.[1]
  const ready = async () => (await fetch(`${address}/readyz`)).json()
  t.match(await ready(), { ready: true, checks: [{ name: 'keys', detail: 'up to date' }] })
  t.equal(await unreadable(), '0')

  await writeFile(path.join(dir, 'ann.key.json'), '{"name": "an')
  await until(async () => (await unreadable()) === '1')
  const told = await ready()
  t.match(told, { ready: true, checks: [{ name: 'keys', detail: /^1 cannot be read/ }] })
  t.notMatch(JSON.stringify(told), /\bann\b/)
  await revokeKey(dir, 'bob')
  await rm(path.join(dir, 'carl.key.json'))
  for (const name of ['bob', 'carl']) {
    await until(async () => (await statusOf(name)) !== 200)
    t.not(await statusOf(name), 200, name)
  }
  t.equal(await statusOf('ann'), 200, 'its last good content counts')
})

t.test('a proxy that is not trusted is named once', async (t) => {
  const warnings = async (settings: Record<string, unknown>) => {
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const { app } = await testApp(t, {}, settings, logger)
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    for (const headers of [{}, { 'x-forwarded-for': '203.0.113.7' }, { 'x-forwarded-for': '203.0.113.8' }])
      await fetch(`${address}/healthz`, { headers })
    return lines.filter((line) => line.includes('X-Forwarded-For'))
  }
  const warned = await warnings({})
  t.equal(warned.length, 1)
  t.match(warned[0], /CEPE_TRUST_PROXY/)
  t.same(await warnings({ TRUST_PROXY: '1' }), [])
})

t.test('limits of a key: requests a minute, questions a day', async (t) => {
  const { ask, send, made } = await withKeys(t, [
    { name: 'ann', role: 'user', requests_per_minute: 3 },
    { name: 'bob', role: 'user', questions_per_day: 2 },
    { name: 'free', role: 'user' },
  ])
  for (let i = 0; i < 3; i++) t.equal((await send('/v1/info', made['ann'])).statusCode, 200)
  const slow = await ask(made['ann'])
  t.match([slow.statusCode, slow.headers['retry-after']], [429, /^\d+$/])
  t.match(slow.json(), { error: { code: 'rate_limited', message: /The key ann may send 3 requests a minute/ } })

  for (let i = 0; i < 2; i++) t.equal((await ask(made['bob'])).statusCode, 200)
  for (const [url, body] of [
    ['/v1/answer', { question: 'q' }],
    ['/v1/score', { question: 'q', choices: ['a'] }],
    ['/v1/chat/completions', { model: 'fake', messages: [{ role: 'user', content: 'q' }] }],
  ] as const) {
    const refused = await send(url, made['bob'], body)
    t.match([refused.statusCode, refused.headers['retry-after']], [429, /^\d+$/], url)
    t.match(refused.json(), { error: { message: /bob has asked the 2 questions of today/ } })
  }
  t.equal((await send('/v1/search', made['bob'], { query: 'q' })).statusCode, 200, 'a search is no question')
  for (let i = 0; i < 5; i++) t.equal((await ask(made['free'])).statusCode, 200)
})

t.test('other origins: none by default, those that are listed', async (t) => {
  const preflight = {
    origin: 'https://a.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  }
  const closed = await withKeys(t, [])
  const refused = await closed.app.inject({ method: 'OPTIONS', url: '/v1/answer', headers: preflight })
  t.equal(refused.statusCode, 405)
  t.equal(refused.headers['access-control-allow-origin'], undefined)

  const open = await withKeys(t, [{ name: 'ann', role: 'user' }], { CORS_ORIGINS: 'https://a.example, https://b.example' })
  const allowed = await open.app.inject({ method: 'OPTIONS', url: '/v1/answer', headers: preflight })
  t.match(
    [allowed.statusCode, allowed.headers],
    [204, { 'access-control-allow-origin': 'https://a.example', 'access-control-allow-headers': /authorization/, vary: /Origin/ }],
  )
  t.equal(allowed.headers['access-control-allow-credentials'], undefined)
  const asked = await open.app.inject({
    url: '/v1/info',
    headers: { origin: 'https://b.example', authorization: `Bearer ${open.made['ann']}` },
  })
  t.match(asked.headers, { 'access-control-allow-origin': 'https://b.example', 'access-control-expose-headers': /x-request-id/ })
  const stranger = await open.app.inject({ url: '/v1/info', headers: { origin: 'https://c.example' } })
  t.equal(stranger.headers['access-control-allow-origin'], undefined)
  const failed = await open.app.inject({ url: '/v1/info', headers: { origin: 'https://a.example' } })
  t.match([failed.statusCode, failed.headers['access-control-allow-origin']], [401, 'https://a.example'], 'a page can read why')
})

t.test('a page can read why it was refused, whatever refused it, and any client of OpenAI may ask from it', async (t) => {
  const { app } = await testApp(t, {}, { CORS_ORIGINS: 'https://a.example', RATE_LIMIT: 1 })
  const origin = 'https://a.example'
  const send = (url: string, more: Record<string, string> = {}, method: 'GET' | 'POST' | 'OPTIONS' = 'POST') =>
    app.inject({ method, url, headers: { origin, 'content-type': 'application/json', ...more }, payload: '{}' })
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-stainless-lang,traceparent' }
  for (let i = 0; i < 3; i++) {
    const { statusCode, headers } = await send('/v1/chat/completions', asked, 'OPTIONS')
    t.match([statusCode, headers], [204, { 'access-control-allow-headers': /x-stainless-lang/ }], 'asking beforehand is no request')
  }
  const refused = [
    await send('/v1/answer', { 'content-encoding': 'gzip' }),
    await send('/v1/passages/%zz', {}, 'GET'),
    (await Promise.all([send('/v1/answer'), send('/v1/answer')])).find(({ statusCode }) => statusCode === 429),
  ]
  const readable = { 'access-control-allow-origin': origin, vary: /Origin/, 'x-request-id': /./ }
  t.match(
    refused,
    [415, 400, 429].map((statusCode) => ({ statusCode, headers: readable })),
  )
  t.match(refused.at(-1)?.headers['access-control-expose-headers'], /retry-after/)
  const drained = app.drain(0)
  const late = await send('/v1/answer')
  t.match([late.statusCode, late.headers['access-control-allow-origin']], [503, origin])
  await drained
  const stranger = await app.inject({ url: '/v1/passages/%zz', headers: { origin: 'null' } })
  t.equal(stranger.headers['access-control-allow-origin'], undefined)
})

t.test('gzip: whole texts for whoever accepts it; no event streams, nothing of admins, no packed bodies', async (t) => {
  const { app } = await testApp(t, {}, { ADMIN_KEY: SETTING })
  const gzip = { 'accept-encoding': 'gzip' }
  const page = await app.inject({ url: '/', headers: gzip })
  t.match(page.headers, { 'content-encoding': 'gzip', vary: /accept-encoding/i })
  t.match(gunzipSync(page.rawPayload).toString(), /<html/)
  t.match((await app.inject('/')).body, /<html/)
  for (const url of ['/docs/json', '/metrics'])
    t.match((await app.inject({ url, headers: gzip })).headers, { 'content-encoding': 'gzip' }, url)
  t.equal((await app.inject({ url: '/healthz', headers: gzip })).headers['content-encoding'], undefined, 'too small')
  const question = { question: 'q', passages: [{ id: '1', title: '', text: 'x'.repeat(5000) }], k: 1 }
  const answered = await app.inject({ method: 'POST', url: '/v1/answer', headers: gzip, payload: question })
  t.equal(answered.headers['content-encoding'], 'gzip')
  t.match(JSON.parse(gunzipSync(answered.rawPayload).toString()), { answer: 'yes' })
  const stream = await app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: gzip,
    payload: { model: 'fake', stream: true, messages: [{ role: 'user', content: 'q' }], cepe: { k: 6 } },
  })
  t.match(stream.headers, { 'content-type': /event-stream/ })
  t.equal(stream.headers['content-encoding'], undefined)
  const admin = { ...gzip, authorization: `Bearer ${SETTING}` }
  const passages = [{ id: '1', title: '', text: 'x'.repeat(5000) }]
  t.equal((await app.inject({ method: 'PUT', url: '/v1/passages', headers: admin, payload: { passages } })).statusCode, 200)
  const listed = await app.inject({ url: '/v1/admin/passages', headers: admin })
  t.match(listed.json(), { passages })
  t.equal(listed.headers['content-encoding'], undefined)
  const packed = await app.inject({
    method: 'POST',
    url: '/v1/answer',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    payload: Buffer.from([0x1f, 0x8b, 8, 0]),
  })
  t.equal(packed.statusCode, 415, 'nothing is unpacked')
})
