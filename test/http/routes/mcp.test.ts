import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { openKeys } from '../../../src/keys/keys.ts'
import { createQuotas } from '../../../src/keys/quota.ts'
import { addKey } from '../../../src/keys/store.ts'
import type { Services } from '../../../src/service/services.ts'
import { factServices } from '../../helpers/fact-services.ts'
import { MCP_CLIENTS } from '../../helpers/mcp-clients.ts'
import { testApp } from '../helpers.ts'

const PASSAGES = [
  { id: 'p7', title: 'Fact 7', text: 'fact 7 is a7 indeed', source: 'facts.txt', metadata: { lang: 'en' } },
  { id: 'p8', title: 'Fact 8', text: 'fact 8 is a8 indeed', source: 'facts.txt' },
  { id: 'odd/1', title: '', text: 'an odd one' },
]
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })

/** A listening service over twenty facts, three of them in its index. */
async function listening(t: Test, changes: Partial<Services> = {}, settings: Record<string, unknown> = {}) {
  const { app, services } = await testApp(t, { answering: factServices().services, ...changes }, settings)
  const vectors = PASSAGES.map(() => Float32Array.of(1, 0))
  await services.index.upsert(PASSAGES, vectors)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, url: `${address}/mcp`, address }
}

for (const [name, connect] of Object.entries(MCP_CLIENTS))
  await t.test(`a client of ${name} lists the tools and calls each`, async (t) => {
    const { url } = await listening(t)
    const client = await connect({ url })
    t.teardown(() => client.close())
    t.match(client.version(), name === 'version 2' ? '2026-07-28' : /^2025-/)
    t.match(
      await client.tools(),
      ['search', 'answer', 'get_passage', 'list_sources', 'list_collections'].map((tool) => ({
        name: tool,
        annotations: { readOnlyHint: true },
      })),
    )

    t.match(await client.call('search', { query: 'fact 7', k: 2 }), {
      content: [{ type: 'text', text: '[1] Fact 7 (id p7)\nfact 7 is a7 indeed\n\n[2] Fact 8 (id p8)\nfact 8 is a8 indeed' }],
      structuredContent: { passages: [{ id: 'p7', rank: 1, score: 10 }, { id: 'p8' }] },
    })
    t.match(await client.call('answer', { question: 'what is fact 7' }), {
      content: [{ type: 'text', text: 'a7 (confidence 0.90, not calibrated)\n\n[1] Fact 7 (id p7)\nfact 7 is a7 indeed' }],
      structuredContent: { answer: 'a7', finish_reason: 'stop', evidence: [{ id: 'p7', quote: 'fact 7 is a7 indeed', says_answer: true }] },
    })
    t.match(await client.call('get_passage', { id: 'p7' }), {
      content: [{ text: 'Fact 7 (id p7), facts.txt\n\nfact 7 is a7 indeed\n\nmetadata: {"lang":"en"}' }],
      structuredContent: PASSAGES[0],
    })
    t.match(await client.call('get_passage', { id: 'odd/1' }), { content: [{ text: 'passage odd/1\n\nan odd one' }] })
    t.match(await client.call('list_sources'), {
      content: [{ text: 'facts.txt: 2 passages\n(no source): 1 passage' }],
      structuredContent: {
        sources: [
          { source: 'facts.txt', passages: 2 },
          { source: '', passages: 1 },
        ],
        total: 2,
      },
    })
    t.notMatch(await client.call('search', { query: 'an odd one', source: '' }), { isError: true }, 'each of them may be named')
    t.match(await client.call('list_sources', { prefix: 'f', limit: 1 }), { structuredContent: { total: 1 } })
    t.match(await client.call('list_collections'), {
      content: [{ text: 'passages: 3 passages, ready, the default' }],
      structuredContent: { collections: [{ name: 'passages', passages: 3, state: 'ready', default: true }], next: null },
    })
  })

await t.test('what goes wrong with a call is its result, with the code of the API', async (t) => {
  const answering = factServices().services
  const reader = { ...answering.reader, answer: () => Promise.reject(new CodedError('overloaded', 'The queue is full.')) }
  const { url } = await listening(t, { answering: { ...answering, reader } })
  for (const connect of Object.values(MCP_CLIENTS)) {
    const client = await connect({ url })
    const failed = async (tool: string, args: Record<string, unknown>, text: RegExp): Promise<void> =>
      void t.match(await client.call(tool, args), { isError: true, content: [{ text }] }, `${tool} ${JSON.stringify(args)}`)
    await failed('answer', { question: 'what is fact 7' }, /^overloaded: The queue is full\.$/)
    await failed('get_passage', { id: 'p99' }, /^not_found: There is no passage "p99"\.$/)
    await failed('search', { query: '' }, /^invalid_request: query must not be empty/)
    await failed('search', { query: 'q', k: 1000 }, /^invalid_request: k must be <= 200/)
    await failed('search', { query: 'q', kk: 1 }, /^invalid_request: kk is not a known field/)
    await failed('answer', {}, /^invalid_request: question is missing/)
    await client.close()
  }
})

await t.test('an answer that the limit of tokens ended is shown as cut off', async (t) => {
  const answering = factServices().services
  const answer: typeof answering.reader.answer = async (...asked) => ({ ...(await answering.reader.answer(...asked)), stopped: false })
  const { url } = await listening(t, { answering: { ...answering, reader: { ...answering.reader, answer } } })
  const client = await MCP_CLIENTS['version 2']?.({ url })
  t.match(await client?.call('answer', { question: 'what is fact 7' }), {
    content: [{ text: /^a7 \(cut off at the most tokens, confidence 0\.90, not calibrated\)\n/ }],
    structuredContent: { answer: 'a7', finish_reason: 'length' },
  })
  await client?.close()
})

await t.test('an error inside is told without its words', async (t) => {
  const answering = factServices().services
  const reader = { ...answering.reader, answer: () => Promise.reject(new Error('secret of /srv/models/cepe')) }
  const { url } = await listening(t, { answering: { ...answering, reader } })
  const client = await MCP_CLIENTS['version 2']?.({ url })
  const { content, isError } = (await client?.call('answer', { question: 'what is fact 7' })) ?? {}
  await client?.close()
  t.equal(isError, true)
  t.match(content, [{ text: /^internal: Something went wrong inside the service/ }])
})

await t.test('keys and their limits hold as on the other routes', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-mcp-keys-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const ann = await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 1 })
  const keys = await openKeys({ dir, pollMs: 10 })
  t.teardown(() => keys.close())
  const quotas = await createQuotas({ dir, keys })
  t.teardown(() => quotas.close())
  const { services } = factServices()
  const { url, app } = await listening(t, { keys, answering: { ...services, admission: quotas.around(services.admission) } })
  for (const connect of Object.values(MCP_CLIENTS)) {
    await t.rejects(connect({ url }), 'without a key')
    await t.rejects(connect({ url, key: 'wrong' }), 'with a wrong one')
  }
  const refused = await app.inject({ method: 'POST', url: '/mcp', headers: HEADERS, payload: message('tools/list') })
  t.match(refused, { statusCode: 401, headers: { 'www-authenticate': /^Bearer/ } })
  t.match(refused.json(), { error: { code: 'unauthorized' } })

  const client = await MCP_CLIENTS['version 1']?.({ url, key: ann })
  t.match(await client?.call('answer', { question: 'what is fact 7' }), { structuredContent: { answer: 'a7' } })
  t.match(await client?.call('answer', { question: 'what is fact 8' }), {
    isError: true,
    content: [{ text: /^rate_limited: The key ann has asked the 1 questions of today/ }],
  })
  t.match(await client?.call('search', { query: 'fact 8' }), { structuredContent: { passages: [{ id: 'p8' }] } }, 'searches do not count')
  await client?.close()
})

await t.test('requests are limited and checked before they are read', async (t) => {
  const { app, address } = await listening(t, {}, { BODY_LIMIT_KB: 1, CORS_ORIGINS: 'https://app.example.org' })
  const post = (payload: unknown, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { host: 'localhost:8080', ...HEADERS, ...headers },
      payload: JSON.stringify(payload),
    })
  const list = message('tools/list')
  t.equal((await post(list)).statusCode, 200)
  t.match((await post(list, { host: 'rebound.example' })).json(), { error: { code: 'misdirected_request' } })
  t.match((await post(list, { origin: 'https://evil.example' })).json(), { error: { code: 'forbidden', field: 'Origin' } })
  t.match((await post(list, { origin: 'null' })).statusCode, 403)
  for (const origin of ['https://app.example.org', 'http://localhost:8080']) t.equal((await post(list, { origin })).statusCode, 200, origin)
  t.match((await post([list, list])).json(), { error: { code: 'invalid_request' } }, 'a batch')
  t.match((await post({ id: 1 })).json(), { error: { code: 'invalid_request', field: 'jsonrpc' } })
  t.match((await post({ ...list, params: { x: 'x'.repeat(2000) } })).json(), { error: { code: 'payload_too_large' } })
  t.match((await post(list, { 'content-type': 'text/plain' })).statusCode, 415)
  t.match((await post(list, { accept: 'text/html' })).statusCode, 406)
  for (const method of ['GET', 'DELETE'] as const) {
    const refused = await fetch(`${address}/mcp`, { method, headers: { accept: 'text/event-stream' } })
    t.equal(refused.status, 405)
    t.equal(refused.headers.get('allow'), 'POST')
    await refused.body?.cancel()
  }
  const listen = { ...message('subscriptions/listen', { _meta: {} }) }
  t.match((await post(listen)).payload, /"error":/, 'there is nothing to listen to')
})

await t.test('a client that leaves takes its call with it', async (t) => {
  const { services } = factServices()
  let signal: AbortSignal | undefined
  const reader: typeof services.reader = {
    ...services.reader,
    answer: (_read, run) => {
      signal = run?.signal
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new CodedError('client_closed', 'left'))))
    },
  }
  const { url } = await listening(t, { answering: { ...services, reader } })
  const leaving = new AbortController()
  const call = message('tools/call', { name: 'answer', arguments: { question: 'what is fact 7' } })
  const sent = fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(call), signal: leaving.signal })
    .then((response) => response.text())
    .catch(() => undefined)
  while (signal === undefined) await sleep(5)
  leaving.abort()
  await sent
  while (!signal.aborted) await sleep(5)
  t.ok(signal.aborted)
})

t.test('a client that accepts JSON alone, or anything, gets JSON', async (t) => {
  const { url } = await listening(t)
  const call = message('tools/call', { name: 'answer', arguments: { question: 'what is fact 7' } })
  for (const path of [url, `${url}/`])
    for (const accept of ['application/json', '*/*', 'application/json;q=0.9, text/plain', 'text/event-stream;q=0, application/json']) {
      const response = await fetch(path, { method: 'POST', headers: { ...HEADERS, accept }, body: JSON.stringify(call) })
      t.equal(response.status, 200, accept)
      t.match(response.headers.get('content-type'), /^application\/json/, accept)
      t.match(await response.json(), { jsonrpc: '2.0', id: 1, result: { structuredContent: { answer: 'a7' } } }, accept)
    }
  const unknown = await fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, accept: 'application/json' },
    body: JSON.stringify(message('tools/call', { name: 'none', arguments: {} })),
  })
  t.match(await unknown.json(), { id: 1, error: { message: /none/ } })
})
