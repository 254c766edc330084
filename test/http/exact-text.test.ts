import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { hashedWords } from '../fixtures/hashed-words.ts'
import { openIndex } from '../../index/open.ts'
import { buildApp } from '../../src/app.ts'
import { createClient } from '../../src/client/index.ts'
import { loadConfig } from '../../src/config.ts'
import { createJobs } from '../../src/jobs/jobs.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { embed, somePassages, tempDir } from '../index/helpers.ts'
import { embedderOf } from '../jobs/helpers.ts'

const KEY = 'k'.repeat(32)

/** A listening service over an empty index. */
async function served(t: Test) {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model: hashedWords, consistencyMs: 0 })
  const embedder = embedderOf((texts) =>
    texts.some((text) => text.includes('nothing')) ? Promise.resolve(texts.map(() => new Float32Array(32))) : embed(texts),
  )
  const jobs = createJobs({ index, embedder, jobsDir: path.join(dir, 'jobs') })
  const { services: answering } = recordingServices()
  const retriever = { ...answering.retriever, index: { view: () => index.view() }, embedder }
  const services = await servicesAround(t, { ...answering, retriever }, { index, jobs, embedder })
  const app = await buildApp(services, loadConfig({ INDEX_DIR: dir, LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}), '0.0.0-test')
  t.teardown(async () => {
    await app.close()
    await jobs.close()
    index.close()
  })
  const base = await app.listen({ port: 0, host: '127.0.0.1' })
  const send = async (method: string, url: string, body?: string | object, type = 'application/json') => {
    const headers = { authorization: `Bearer ${KEY}`, ...(body !== undefined && { 'content-type': type }) }
    const response = await fetch(base + url, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return response.text()
  }
  const asked = async (...request: Parameters<typeof send>) => JSON.parse(await send(...request)) as Record<string, unknown>
  const put = (passage: unknown, query = '') => asked('PUT', `/v1/passages${query}`, { passages: [passage] })
  return { base, index, jobs, send, asked, put }
}

await t.test('a passage is given back as it was put; one whose vector holds zeros only is refused by its id', async (t) => {
  const { base, index, put } = await served(t)

  const passage = { id: 'code', title: ' A title ', text: '  indented:\n    more\n\n' }
  t.match(await put(passage), { upserted: 1 })
  t.same(await (await fetch(`${base}/v1/passages/code`)).json(), passage)
  t.match(await put(passage), { upserted: 0, unchanged: 1 })
  t.match(await put({ id: 'blank', title: '', text: ' \n ' }), { error: { message: /text is empty/ } })

  t.match(await put({ id: 'null', title: '', text: 'nothing' }), {
    error: { code: 'index_invalid', message: /passage "null" is all zeros/ },
  })
  const [some] = somePassages(1)
  for (const value of [0, -0, 1e-9])
    await t.rejects(index.upsert(some ? [some] : [], [new Float32Array(32).fill(value)]), { message: /"p0" is all zeros/ })
  await t.rejects(index.upsert(some ? [some] : [], [new Float32Array(32).fill(NaN)]), { message: /"p0" holds NaN/ })
  t.equal(await index.count(), 1)
})

await t.test('names and values of metadata are the same in every response, or refused', async (t) => {
  const { send, asked, put } = await served(t)
  const metadata = { 'a\u2028b': 1, 'a/b': 'x', 'c~d': ['y'], n: null }
  t.match(await put({ id: 'one', title: 'Caf\u00e9', text: 'coffee', metadata }), { upserted: 1 })
  t.same((await asked('GET', '/v1/passages/one'))['metadata'], metadata)
  const search = (filter: object) => asked('POST', '/v1/search', { query: 'coffee', filter })
  const found = { passages: [{ id: 'one', metadata }] }
  t.match(await search({ metadata: { 'a\u2028b': 1 } }), found)
  t.match(await search({ title: 'Cafe\u0301' }), found, 'titles are stored composed')
  t.match(await search({ title: { prefix: 'Cafe\u0301' } }), found)
  const field = (name: string) => ({ error: { code: 'invalid_request', field: `filter.metadata.${name}` } })
  t.match(await search({ metadata: { 'a\nb': { above: 1 } } }), field('a\nb.above'))
  t.match(await search({ metadata: { 'a/b': { above: 1 } } }), field('a/b.above'))
  t.match(await search({ metadata: { 'c~d': { gt: true } } }), field('c~d.gt'))

  const supplied = { 'a\nb': 1, 'a\rb': 'x', c: 2 }
  const question = { question: 'q', passages: [{ title: '', text: 'yes', metadata: supplied }] }
  t.match(await asked('POST', '/v1/answer', question), { evidence: [{ metadata: supplied }] })
  t.match(await send('POST', '/v1/answer', { ...question, stream: true }), '"metadata":{"a\\nb":1,"a\\rb":"x","c":2}')
  t.match(await asked('POST', '/v1/answer', { question: 'q', passages: [{ title: '', text: 'yes', metadata: { 'a\nb': {} } }] }), {
    error: { code: 'invalid_request', field: 'passages.0.metadata.a\nb' },
  })

  const half = '\ud83d'
  const cut = { title: { title: half }, text: { text: half }, source: { source: half }, metadata: { metadata: { s: half } } }
  for (const [name, part] of Object.entries(cut))
    t.match(await put({ id: 'half', title: '', text: 'x', ...part }), { error: { message: /half of a surrogate pair/ } }, name)

  // JSON rounds 2^53 + 1 to 2^53.
  const rounded = { n: Number('9007199254740993') }
  const inexact = /is not an exact integer: write it as a string/
  t.match(await put({ id: 'n', title: '', text: 'x', metadata: rounded }), { error: { message: inexact } })
  for (const n of [rounded.n, [rounded.n], { equal: rounded.n }])
    t.match(await asked('POST', '/v1/search', { query: 'q', filter: { metadata: { n } } }), {
      error: { code: 'invalid_request', field: 'filter.metadata.n', message: inexact },
    })
  t.match(await asked('POST', '/v1/answer', { question: 'q', passages: [{ title: '', text: 'x', metadata: rounded }] }), {
    error: { code: 'invalid_request', field: 'passages.0.metadata.n', message: inexact },
  })
})

await t.test('an id is found by its address, whatever it holds; one that no address can have is refused', async (t) => {
  const { base, index, send, asked, put, jobs } = await served(t)
  const client = createClient({ url: base, key: KEY })
  const ids = ['a/b', '/', 'a/../b', '...', '%2e', 'a%2Fb', '?', '#', ' a', '"', "'", '\\', 'e\u0301', '\u00e9', '\u{1f600}', '\u2028']
  for (const id of ids.filter((one) => one.trim() !== '')) {
    t.match(await put({ id, title: '', text: `of ${id}` }), { upserted: 1 })
    t.same(await client.getPassage(id), { id, title: '', text: `of ${id}`.normalize() })
  }
  for (const id of ids.filter((one) => one.trim() !== '')) t.same(await client.deletePassage(id), { deleted: 1 }, id)
  for (const id of ['.', '..'])
    t.match(await put({ id, title: '', text: 'x' }), { error: { message: /The id is \.\.?, which is no name/ } })

  await jobs.start()
  const rows = [
    { id: '..', text: 'dots' },
    { id: 'long', text: 'of a long source', source: 's'.repeat(1001) },
    { id: 'most', text: 'of the longest source', source: '\u{1f600}'.repeat(1000) },
    { id: 'a\u2028b', text: 'one' },
    { id: 'a\u2028b', text: 'two' },
  ]
  const lines = rows.map((row) => JSON.stringify({ title: '', ...row })).join('\n')
  const { id: job, ...rest } = await asked('POST', '/v1/admin/index-jobs?max_rejected_share=1', lines, 'application/x-ndjson')
  t.match(rest, { counters: { accepted: 2, rejected: 3 } })
  let state: unknown
  for (let i = 0; i < 500 && state !== 'done'; i++) {
    await delay(20)
    ;({ state } = await asked('GET', `/v1/admin/index-jobs/${String(job)}`))
  }
  t.equal(state, 'done')
  t.equal(await index.count(), 2)
  t.match(await asked('GET', `/v1/passages?source=${encodeURIComponent('\u{1f600}'.repeat(1000))}`), { total: 1 })
  const report = (await send('GET', `/v1/admin/index-jobs/${String(job)}/report`)).trimEnd().split('\n')
  t.match(
    report.map((line) => JSON.parse(line) as object),
    [
      { line: 1, reason: 'bad_id' },
      { line: 2, reason: 'malformed', detail: /more than the 1000 characters/ },
      { line: 5, reason: 'duplicate_id', detail: /"a\u2028b"/ },
    ],
    'a line of the report is a line, whatever it quotes',
  )
})

await t.test('half of a surrogate pair, which no model can read, is refused wherever a text comes in', async (t) => {
  const { asked, index } = await served(t)
  const half = 'a \ud83d b'
  const passages = [{ title: '', text: 'x' }]
  const cases: [url: string, body: object, field: string][] = [
    ['/v1/answer', { question: half }, 'question'],
    ['/v1/answer', { question: half, stream: true }, 'question'],
    ['/v1/answer', { question: 'q', passages: [{ id: half, title: '', text: 'x' }] }, 'passages.0.id'],
    ['/v1/answer', { question: 'q', passages, stop: ['x', half] }, 'stop.1'],
    ['/v1/answer', { question: 'q', passages, instruction: half }, 'instruction'],
    ['/v1/answer', { question: 'q', passages, earlier: [{ question: 'q', answer: half }] }, 'earlier.0.answer'],
    ['/v1/answer', { question: 'q', passages, demonstrations: [{ question: 'q', answer: half }] }, 'demonstrations.0.answer'],
    ['/v1/answer/stream', { question: half }, 'question'],
    ['/v1/search', { query: half }, 'query'],
    ['/v1/search', { query: 'q', filter: { source: half } }, 'filter.source'],
    ['/v1/search', { query: 'q', filter: { metadata: { [half]: 'x' } } }, 'filter.metadata.a \ufffd b'],
    ['/v1/score', { question: 'q', choices: ['x', half] }, 'choices.1'],
    ['/v1/rerank', { query: 'q', documents: [half] }, 'documents.0'],
    ['/v1/documents/answer', { text: half, question: 'q' }, 'text'],
    ['/v1/documents/answer', { text: 'x', question: 'q', title: half }, 'title'],
    ['/v1/passages/delete', { ids: [half] }, 'ids.0'],
    ['/v1/admin/snapshots', { name: half }, 'name'],
    ['/v1/admin/index-jobs', { source: half }, 'source'],
  ]
  for (const [url, body, field] of cases) {
    const { error } = await asked('POST', url, body)
    t.match(error, { code: 'invalid_request', field, message: `${field} holds half of a surrogate pair` }, `${url} ${field}`)
  }
  const chat = { model: 'cepe', messages: [{ role: 'user', content: half }] }
  t.match(await asked('POST', '/v1/chat/completions', chat), { error: { param: 'messages.0.content', message: /half of a surrogate/ } })
  t.match(await asked('POST', '/v1/responses', { model: 'cepe', input: half }), { error: { param: 'input' } })
  t.match(await asked('POST', '/v1/embeddings', { model: 'fake', input: ['x', half] }), { error: { param: 'input.1' } })

  const items = await asked('POST', '/v1/answers', { questions: [{ question: half }, { question: 'q', passages }] })
  t.match(items, { results: [{ status: 400, error: { field: 'question', message: /half of a surrogate/ } }, { status: 200 }] })
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search', arguments: { query: half } } }
  t.match(await asked('POST', '/mcp', call), { result: { isError: true, content: [{ text: /query holds half of a surrogate/ }] } })
  const some = [
    { id: 'half', title: '', text: half },
    { id: 'whole', title: '', text: 'a \u{1f600} b' },
  ]
  const results = [
    { id: 'half', status: 'rejected' },
    { id: 'whole', status: 'upserted' },
  ]
  t.match(await asked('PUT', '/v1/passages?partial=true', { passages: some }), { results }, 'an item fails alone')
  t.equal(await index.count(), 1)
})

await t.test('a query is read as it was sent, or refused by the name of its parameter', async (t) => {
  const { send, asked, put } = await served(t)
  await put({ id: 'a', title: '', text: 'x', source: 'caf\u00e9 + 100 %' })
  const total = (source: string) => asked('GET', `/v1/passages?source=${source}`)
  t.match(await total('caf%C3%A9+%2B+100+%25'), { total: 1 })
  t.match(await total('caf%c3%a9%20%2B%20100%20%25'), { total: 1 })
  const refused = (field: string, message: RegExp) => ({ error: { code: 'invalid_request', field, message } })
  for (const source of ['caf%E9', 'caf%C3', '%', '%zz', '%ED%A0%BD'])
    for (const url of [
      '/v1/passages?source=',
      '/v1/passages?limit=1&source=',
      '/v1/admin/passages?source=',
      '/v1/admin/passages/export?source=',
    ])
      t.match(
        await asked('GET', url + source),
        refused('source', /is not valid: percent signs must begin the bytes of UTF-8/),
        url + source,
      )
  t.match(await asked('GET', '/v1/sources?contains=%E9'), refused('contains', /percent/))
  t.match(await asked('PUT', '/v1/collections/new?copy_of=%E9'), refused('copy_of', /percent/))
  t.match(await asked('GET', '/v1/passages?caf%E9=x'), refused('query', /percent/))
  t.match(await asked('GET', '/v1/passages?law'), refused('query', /a parameter that is not known, without a value/))
  t.match(await asked('GET', '/?source=caf%E9'), refused('source', /percent/))
  t.match(await send('GET', '/?q=is%20100%%20right&source=caf%C3%A9'), '<!doctype html>', 'an address that was typed')

  const unknown = refused('colection', /is not a known field/)
  const routes: [method: string, url: string, body?: object][] = [
    ['GET', '/v1/passages/a'],
    ['GET', '/v1/passages/a/file'],
    ['GET', '/v1/info'],
    ['GET', '/v1/admin/index'],
    ['GET', '/v1/admin/sources'],
    ['GET', '/v1/admin/snapshots'],
    ['POST', '/v1/admin/snapshots', { name: 'new' }],
    ['POST', '/v1/admin/index/reembed'],
    ['POST', '/v1/passages/delete', { ids: ['a'] }],
    ['DELETE', '/v1/passages/a'],
    ['DELETE', '/v1/collections/passages'],
    ['POST', '/v1/answer', { question: 'q' }],
    ['POST', '/v1/answers', { questions: [{ question: 'q' }] }],
    ['POST', '/v1/search', { query: 'q' }],
    ['POST', '/v1/documents/answer', { text: 'x', question: 'q' }],
  ]
  for (const [method, url, body] of routes) t.match(await asked(method, `${url}?colection=law`, body), unknown, `${method} ${url}`)
  const withoutBody = [
    ['DELETE', '/v1/passages/a'],
    ['DELETE', '/v1/collections/passages'],
    ['PUT', '/v1/collections/new'],
    ['POST', '/v1/admin/index/reembed'],
    ['POST', '/v1/admin/snapshots/none/restore'],
    ['DELETE', '/v1/admin/snapshots/none'],
  ] as const
  for (const [method, url] of withoutBody)
    t.match(
      await asked(method, url, { collection: 'law' }),
      refused('collection', /is not a known field/),
      `${method} ${url} takes no body`,
    )
  t.match(await asked('DELETE', '/v1/admin/snapshots/none', {}), { error: { code: 'not_found' } }, 'an empty object asks for nothing')
  t.match(await total('caf%C3%A9+%2B+100+%25'), { total: 1 }, 'nothing was deleted')
  t.match(await send('GET', '/v1/models?api-version=1'), '"object":"list"', 'clients made for another API add parameters')
  const messages = [{ role: 'user', content: 'q' }]
  const elsewhere = [
    ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ['/v1/chat/completions', { model: 'cepe', messages }],
    ['/v1/responses', { model: 'cepe', input: 'q' }],
    ['/rerank', { query: 'q', texts: ['x'] }],
  ] as const
  for (const [url, body] of elsewhere)
    t.match(await asked('POST', `${url}?collection=law`, body), { error: { message: /collection is not taken from the query here/ } }, url)
  t.match(await send('GET', '/?source=x&collection=law'), '<!doctype html>', 'the page reads its own')
})

await t.test('partial and other options mean the same whether all passages are valid or not', async (t) => {
  const { asked } = await served(t)
  const passages = [
    { id: 'good', title: '', text: 'x' },
    { id: 'bad', title: '' },
  ]
  const put = (query: string) => asked('PUT', `/v1/passages?${query}`, { passages })
  const rejected = { id: 'bad', status: 'rejected', error: { code: 'invalid_request', field: 'passages.1.text' } }
  t.match(await put('partial=true'), { upserted: 1, rejected: 1, results: [{ id: 'good', status: 'upserted' }, rejected] })
  t.match(await put('partial=1'), { unchanged: 1, rejected: 1, results: [{ id: 'good', status: 'unchanged' }, rejected] })
  t.match(await put('partial=false'), {
    error: { code: 'invalid_request', message: 'passages.1.text is missing.', field: 'passages.1.text' },
  })
  t.match(await put('partial=true&other=1'), { error: { field: 'other' } })
  t.match(await put('partial=perhaps'), { error: { field: 'partial' } })
  t.match(await put('partial=true&collection=not%20a%20name'), { error: { code: 'invalid_request', field: 'collection' } })
})

await t.test('a text that is cut for a response or a title ends with a whole character', async (t) => {
  const { asked, put } = await served(t)
  const letters = 'y'.repeat(299)
  await put({ id: 'long', title: '', text: `${letters}\u{1f600} and more` })
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'answer', arguments: { question: 'and more of it' } } }
  t.match(await asked('POST', '/mcp', call), { result: { structuredContent: { evidence: [{ id: 'long', quote: letters }] } } })
  const text = `${'x'.repeat(999)}\u{1f600} and more`
  const question = { question: 'q', min_confidence: 1, passages: [{ title: '', text }] }
  t.match(await asked('POST', '/v1/answer', question), { extract: { start: 0, end: 999, text: 'x'.repeat(999) } })
  const id = `${'z'.repeat(99)}\u{1f600}`
  t.match(await asked('GET', `/v1/passages/${encodeURIComponent(id)}`), { error: { message: `There is no passage "${'z'.repeat(99)}".` } })
})
