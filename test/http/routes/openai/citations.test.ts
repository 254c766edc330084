import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { PassageSource } from '../../../../src/rag/retrieve.ts'
import { passageLinks } from '../../../../src/service/storage.ts'
import { openKeys } from '../../../../src/keys/keys.ts'
import { addKey } from '../../../../src/keys/store.ts'
import type { Services } from '../../../../src/service/services.ts'
import { factServices } from '../../../helpers/fact-services.ts'
import { loadConfig } from '../../../../src/config.ts'
import { testApp } from '../../helpers.ts'

/** What the corpus says of where a fact comes from. */
const ORIGINS: Readonly<Record<string, object>> = {
  p1: { source: 'https://example.org/facts/1' },
  p2: { source: 'facts.pdf', metadata: { url: 'https://example.org/facts/2' } },
  p3: { source: 'facts.pdf' },
  p4: {},
  p5: { source: 'facts.pdf', metadata: { page: 3 } },
  p6: { source: 'https://example.org/a page (1)' },
  p7: { source: 'ftp://example.org/7' },
}
interface Facts {
  readonly offset?: number
  readonly found?: number
  readonly settings?: Record<string, unknown>
  /** Whether files are served, under this base path. */
  readonly filesUnder?: string
  readonly services?: Partial<Services>
}

/** OpenAI's own client of a service over twenty facts. */
async function withClient(t: Test, { offset = 0, found = 20, settings = {}, filesUnder, services: changes = {} }: Facts = {}) {
  const { services } = factServices({ offset })
  const inner = await services.retriever.index.view()
  const search: Awaited<ReturnType<PassageSource['view']>>['search'] = async (vector, { k }) =>
    (await inner.search(vector, { k: Math.min(k, found) })).map((hit) => ({ ...hit, ...ORIGINS[hit.id] }))
  const answering = {
    ...services,
    retriever: { ...services.retriever, index: { view: () => Promise.resolve({ ...inner, search }) } },
    ...(filesUnder !== undefined && { fileOf: passageLinks({ BASE_PATH: filesUnder, TABLE: 'passages' }, () => Promise.resolve(true)) }),
  }
  const { app } = await testApp(t, { answering, ...changes }, settings)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = (headers: Record<string, string> = {}, apiKey = 'unused') =>
    new OpenAI({ baseURL: `${address}/v1`, apiKey, maxRetries: 0, defaultHeaders: headers })
  /** The address that an answer cites, in its annotations and in the list. */
  const cited = async (question: string, { apiKey, ...headers }: Record<string, string> = {}) => {
    const { choices } = await client(headers, apiKey).chat.completions.create({ ...ask(question), ...{ cepe: { k: 1, sources: true } } })
    const url = choices[0]?.message.annotations?.[0]?.url_citation.url
    t.equal(choices[0]?.message.content?.split(', ').slice(1).join(', '), url, 'the list has the same address')
    return url
  }
  return { client: client(), address, cited }
}
const ask = (question: string) => ({ model: 'fake', messages: [{ role: 'user' as const, content: question }] })
const citation = (title: string, url: string) => ({ type: 'url_citation', url_citation: { title, url, start_index: 0, end_index: 2 } })

t.test('an answer cites the passages that say it, by address, source or where they can be read', async (t) => {
  const { client, address } = await withClient(t)
  const cases: [string, object][] = [
    ['what is fact 1', citation('Fact 1', 'https://example.org/facts/1')],
    ['what is fact 2', citation('Fact 2', 'https://example.org/facts/2')],
    ['what is fact 3', citation('Fact 3', `${address}/?passage=p3&mark=10-12`)],
    ['what is fact 4', citation('Fact 4', `${address}/?passage=p4&mark=10-12`)],
  ]
  for (const [question, wanted] of cases) {
    const { choices } = await client.chat.completions.create(ask(question))
    t.same(choices[0]?.message.annotations, [wanted], question)
    const stream = client.chat.completions.stream(ask(question))
    const final = await stream.finalChatCompletion()
    t.same(final.choices[0]?.message.annotations, [wanted], `${question}, streamed and put together by the client`)
  }
})

t.test('in a stream they are a delta of their own, after the text and before the end', async (t) => {
  const { client } = await withClient(t)
  const seen: string[] = []
  for await (const { choices } of await client.chat.completions.create({ ...ask('what is fact 1'), stream: true })) {
    const [{ delta, finish_reason: finish } = { delta: {}, finish_reason: null }] = choices
    seen.push(...Object.keys(delta).filter((key) => key !== 'refusal'), ...(finish === null ? [] : [finish]))
  }
  t.same(seen, ['role', 'content', 'content', 'annotations', 'stop'])
})

t.test('an answer that no passage says cites where the reader looked; none cites nothing', async (t) => {
  const late = await withClient(t, { offset: 20 - 8 })
  const { choices } = await late.client.chat.completions.create({ ...ask('what is fact 1'), ...{ cepe: { k: 6, k_decoder: 0 } } })
  t.equal(choices[0]?.message.content, 'unknown')
  t.equal(choices[0]?.message.annotations?.length, 3)
  const none = await withClient(t, { found: 0 })
  const refused = await none.client.chat.completions.create(ask('what is fact 1'))
  const words = 'No passage was found to answer from.'
  t.match(refused.choices[0]?.message, { content: words, refusal: words, annotations: [] })
})

t.test('a base path is part of a passage address', async (t) => {
  const { client } = await withClient(t, { settings: { BASE_PATH: '/qa' } })
  const { choices } = await client.chat.completions.create(ask('what is fact 4'))
  t.match(choices[0]?.message.annotations?.[0]?.url_citation.url, /^http:\/\/127\.0\.0\.1:\d+\/qa\/\?passage=p4&mark=10-12$/)
})

t.test('by setting, passages are appended to the text; a request has the last word', async (t) => {
  const { client } = await withClient(t, { found: 2, settings: { CHAT_SOURCES: true } })
  const list = 'a1\n\nSources:\n[1] Fact 1, https://example.org/facts/1\n[2] Fact 2, https://example.org/facts/2'
  const { choices } = await client.chat.completions.create(ask('what is fact 1'))
  t.equal(choices[0]?.message.content, list)
  t.match(choices[0]?.message.annotations?.[0]?.url_citation, { end_index: 2 }, 'citations are of the answer alone')
  const stream = client.chat.completions.stream(ask('what is fact 1'))
  t.equal(await stream.finalContent(), list)
  const without = { ...ask('what is fact 1'), cepe: { sources: false } }
  t.equal((await client.chat.completions.create(without)).choices[0]?.message.content, 'a1')
})

t.test('an address is absolute and can be opened: web page, file at its page, else the page that shows the passage', async (t) => {
  const { cited, address } = await withClient(t, { filesUnder: '' })
  for (const [fact, url] of [
    [1, 'https://example.org/facts/1'],
    [3, `${address}/v1/passages/p3/file`],
    [5, `${address}/v1/passages/p5/file#page=3`],
    [6, 'https://example.org/a%20page%20(1)'],
    [7, `${address}/?passage=p7&mark=10-12`],
    [4, `${address}/?passage=p4&mark=10-12`],
  ] as const)
    t.equal(await cited(`what is fact ${fact}`), url)
})

t.test('where files need a key, which a link cannot carry, the page is cited', async (t) => {
  const dir = t.testdir()
  const apiKey = await addKey(dir, { name: 'ann', role: 'user' })
  const keys = await openKeys({ dir, pollMs: 1000 })
  t.teardown(() => keys.close())
  const { cited, address } = await withClient(t, { filesUnder: '', services: { keys } })
  t.equal(await cited('what is fact 5', { apiKey }), `${address}/?passage=p5&mark=10-12`)
})

t.test('its beginning is a setting, or what a trusted proxy forwards, or what was asked', async (t) => {
  const forwarded = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'qa.example.org' }
  const page = '/?passage=p4&mark=10-12'
  const untrusted = await withClient(t)
  t.equal(await untrusted.cited('what is fact 4', forwarded), `${untrusted.address}${page}`)
  const proxied = { TRUST_PROXY: 'loopback', BASE_PATH: '/qa', ALLOWED_HOSTS: 'qa.example.org' }
  const behind = await withClient(t, { settings: proxied, filesUnder: '/qa' })
  t.equal(await behind.cited('what is fact 4', forwarded), `https://qa.example.org/qa${page}`)
  t.equal(await behind.cited('what is fact 5', forwarded), 'https://qa.example.org/qa/v1/passages/p5/file#page=3')
  const elsewhere = await withClient(t, { settings: { ...proxied, TRUST_PROXY: '192.0.2.7' }, filesUnder: '/qa' })
  t.equal(await elsewhere.cited('what is fact 4', forwarded), `${elsewhere.address}/qa${page}`, 'another address is no proxy')
  for (const [PUBLIC_URL, base] of [
    ['https://answers.example.org', 'https://answers.example.org/qa'],
    ['https://answers.example.org/', 'https://answers.example.org/qa'],
    ['http://answers.example.org:8443/help/', 'http://answers.example.org:8443/help'],
  ] as const) {
    const named = await withClient(t, { settings: { ...proxied, PUBLIC_URL }, filesUnder: '/qa' })
    t.equal(await named.cited('what is fact 4', forwarded), `${base}${page}`)
    t.equal(await named.cited('what is fact 5'), `${base}/v1/passages/p5/file#page=3`)
  }
  for (const PUBLIC_URL of ['answers.example.org', 'ftp://answers.example.org', 'https://answers.example.org/?a=b', 'https://x/#y'])
    t.throws(() => loadConfig({ PUBLIC_URL }, {}), { message: /CEPE_PUBLIC_URL/ }, PUBLIC_URL)
})
