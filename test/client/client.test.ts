import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, default as t } from 'tap'
import { type AnswerEvent, type RetryOptions, createClient } from '../../src/client/index.ts'
import { serverEvents } from '../../src/client/stream.ts'
import type { Reader } from '../../src/inference/contract.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { speakingReader, testApp } from '../http/helpers.ts'
import { until } from '../helpers/until.ts'

const FAST: RetryOptions = { attempts: 2, pauseMs: 1 }

async function serviceWith(t: Test, reader: Partial<Reader> = {}, settings: Record<string, unknown> = {}) {
  const { services } = recordingServices()
  const { app } = await testApp(t, { answering: { ...services, reader: { ...services.reader, ...reader } } }, settings)
  return app.listen({ host: '127.0.0.1', port: 0 })
}

/** A server that answers as a test says. */
async function server(t: Test, listener: RequestListener): Promise<string> {
  const listening = createServer(listener).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => {
    listening.closeAllConnections()
    listening.close()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = []
  for await (const item of items) taken.push(item)
  return taken
}
t.test('every method asks its route', async (t) => {
  const client = createClient({
    url: `${await serviceWith(t, {}, { ADMIN_KEY: 'admin-key-of-this-test' })}/`,
    key: 'admin-key-of-this-test',
  })
  t.equal((await client.answer({ question: 'q' })).answer, 'yes')
  t.equal((await client.search({ query: 'q', k: 3 })).passages.length, 3)
  t.match((await client.getInfo()).reader.defaults, { k: 6 })
  const items = await all(client.answerMany([{ question: 'one' }, { question: '' }, { question: 'three', k: 1 }]))
  t.match(items, [
    { index: 0, status: 200, result: { answer: 'yes' } },
    { index: 1, status: 400, error: { code: 'invalid_request', field: 'question' } },
    { index: 2, status: 200, result: { evidence: [{ id: 'p0' }] } },
  ])
  const put = await client.upsertPassages({ passages: [{ id: 'a/b', title: 'A', text: 'Text of it.' }] })
  t.match(put, { upserted: 1 })
  t.match(await client.getPassage('a/b'), { id: 'a/b', text: 'Text of it.' })
  t.same(await client.deletePassage('a/b'), { deleted: 1 })
  await t.rejects(client.getPassage('a/b'), { name: 'CepeError', code: 'not_found', status: 404, requestId: /./ })
  t.match(await client.listCollections(), { collections: [{ name: 'passages', default: true }], next: null })
  t.same((await client.listCollections({ after: 'passages' })).collections, [])
  const elsewhere = { collection: 'none' }
  const calls: readonly (() => Promise<unknown>)[] = [
    () => client.getPassage('a', elsewhere),
    () => client.upsertPassages({ passages: [{ id: 'a', title: '', text: 'a' }] }, elsewhere),
    () => client.deletePassage('a', elsewhere),
    () => client.deletePassages({ ids: ['a'] }, elsewhere),
    () => client.search({ query: 'q', ...elsewhere }),
  ]
  for (const call of calls) await t.rejects(call(), { code: 'unknown_collection', status: 404 })
  await t.rejects(client.score({ question: 'q', choices: [] }), { code: 'invalid_request', field: 'choices' })
  await t.rejects(client.rerank({ query: 'q', documents: [] }), { code: 'invalid_request', field: 'documents' })
  await t.rejects(client.answerDocument({ text: '' }), { code: 'invalid_request', field: 'text' })
  const form = new FormData()
  form.set('file', new Blob(['']), 'empty.txt')
  await t.rejects(client.answerDocument(form), { code: 'document_without_text', status: 422 }, 'a form goes as one')
})

t.test('a stream: each part when it is there, and leaving it ends the answer', async (t) => {
  const { answer, held, left } = speakingReader(['the', ' black', ' sea'])
  const client = createClient({ url: await serviceWith(t, { answer }) })
  const seen: AnswerEvent['event'][] = []
  for await (const { event, data } of client.streamAnswer({ question: 'q' })) {
    seen.push(event)
    if (event === 'token' && data.text === ' black') break
    await until(() => held.length > 0)
    held.pop()?.go()
  }
  t.same(seen, ['evidence', 'token', 'token'])
  await until(() => left() === 1)
  const leaving = new AbortController()
  const before = held.length
  const aborted = all(client.streamAnswer({ question: 'q' }, { signal: leaving.signal }))
  await until(() => held.length > before)
  leaving.abort(new Error('enough'))
  await t.rejects(aborted, { message: 'enough' })
  await until(() => left() === 2)
})

t.test("a stream that fails throws the service's error; one that is cut short says so", async (t) => {
  const { answer, held } = speakingReader(['one', ' two'])
  const client = createClient({ url: await serviceWith(t, { answer }) })
  const failing = all(client.streamAnswer({ question: 'q' }))
  await until(() => held.length === 1)
  held[0]?.go()
  await until(() => held.length === 2)
  held[1]?.fail(new Error('broken'))
  await t.rejects(failing, { name: 'CepeError', code: 'internal', requestId: /./ })
  const cut = await server(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: token\ndata: {"text":"a"}\n\n')
  })
  await t.rejects(all(createClient({ url: cut }).streamAnswer({ question: 'q' })), {
    code: 'service_unreachable',
    message: /before the response was complete/,
  })
  await t.rejects(all(createClient({ url: cut }).answerMany([{ question: 'q' }])), { code: 'service_unreachable' })
  const torn = await server(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: token\ndata: {"text":"a"}\n\n')
    setTimeout(() => response.destroy(), 20)
  })
  await t.rejects(all(createClient({ url: torn }).streamAnswer({ question: 'q' })), {
    code: 'service_unreachable',
    message: /does not answer/,
  })
})

t.test('a busy service is asked again as it says, a broken connection a few times', async (t) => {
  let asked = 0
  const answers: RequestListener[] = []
  const url = await server(t, (request, response) => {
    asked++
    request.resume()
    answers.shift()?.(request, response)
  })
  const busy =
    (status: number, after?: string): RequestListener =>
    (_request, response) => {
      const error = { code: 'overloaded', message: 'full', request_id: '1' }
      response.writeHead(status, after === undefined ? {} : { 'retry-after': after }).end(JSON.stringify({ error }))
    }
  const broken: RequestListener = (_request, response) => void response.destroy()
  const fine: RequestListener = (_request, response) => void response.end('{"answer":"a"}')
  const client = createClient({ url, retry: FAST })
  const tries = async (...planned: RequestListener[]) => {
    asked = 0
    answers.splice(0, answers.length, ...planned)
    const outcome = await client.answer({ question: 'q' }).then(
      ({ answer }) => answer,
      (error: unknown) => error,
    )
    return { asked, outcome }
  }
  t.match(await tries(busy(503, '0'), busy(429, '0'), busy(503, '0'), fine), { asked: 4, outcome: 'a' }, 'as often as it says')
  t.match(await tries(busy(503), fine), { asked: 2, outcome: 'a' })
  t.match(await tries(busy(503), busy(503), fine), { asked: 2, outcome: { code: 'overloaded', status: 503 } })
  t.match(await tries(busy(429, '3600'), fine), { asked: 1, outcome: { status: 429, retryAfterS: 3600 } }, 'a day is not waited for')
  t.match(await tries(broken, fine), { asked: 2, outcome: 'a' })
  t.match(await tries(broken, broken, fine), { asked: 2, outcome: { code: 'service_unreachable' } })
  t.match(await tries((_request, response) => void response.end('<html>')), { asked: 1, outcome: { code: 'unexpected_response' } })
  t.match(await tries((_request, response) => void response.writeHead(500).end('no')), {
    asked: 1,
    outcome: { code: 'unexpected_response', status: 500 },
  })
  answers.splice(0, answers.length, busy(503, '20'))
  await t.rejects(client.answer({ question: 'q' }, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' }, 'a wait can be left')
})

t.test('a change whose response was lost on the way is made once, and told as it was made', async (t) => {
  const url = await serviceWith(t, {}, { ADMIN_KEY: 'admin-key-of-this-test' })
  let lost = false
  const losing: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    lost = !lost
    if (!lost) return response
    await response.text()
    throw new TypeError('fetch failed')
  }
  const client = createClient({ url, key: 'admin-key-of-this-test', retry: FAST, fetch: losing })
  const passages = ['a', 'b', 'c'].map((id) => ({ id, title: '', text: `Text of ${id}.` }))
  t.match(await client.upsertPassages({ passages }), { upserted: 3, unchanged: 0 })
  t.match(await client.upsertPassages({ passages }), { upserted: 0, unchanged: 3 }, 'another call is another change')
  t.same(await client.deletePassage('a'), { deleted: 1 })
  t.same(await client.deletePassages({ ids: ['b', 'c'] }), { deleted: 2 })
})

t.test('what cannot be an address or a key is refused, and no key is shown', (t) => {
  t.throws(() => createClient({ url: 'localhost:8080' }), { code: 'options_invalid', field: 'url' })
  t.throws(() => createClient({ url: 'http://ann:secret@localhost' }), { code: 'options_invalid', message: /^(?!.*secret)/ })
  for (const key of ['', 'two words', 'schlüssel'])
    t.throws(() => createClient({ url: 'http://localhost', key }), { code: 'options_invalid', message: /it is not shown/ })
  t.end()
})

t.test('events and lines, however they are cut', async (t) => {
  const text =
    ': hello\r\n\r\nevent: token\r\ndata: {"text":"grün"}\r\n\r\ndata:two\ndata\ndata: lines\nid: 4\n\nevent: none\n\ndata: unended'
  const expected = [
    { event: 'token', data: '{"text":"grün"}' },
    { event: 'message', data: 'two\n\nlines' },
  ]
  const bytes = new TextEncoder().encode(text)
  for (const size of [1, 2, 7, bytes.length]) {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size))
    t.same(await all(serverEvents(ReadableStream.from(parts) as ReadableStream<Uint8Array>)), expected, `${size} bytes`)
  }
})
