import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { SearchedTable } from '../../../../src/rag/retrieve.ts'
import { factServices } from '../../../helpers/fact-services.ts'
import { testApp } from '../../helpers.ts'

/** What the corpus says of where a fact comes from. */
const ORIGINS: Readonly<Record<string, object>> = {
  p1: { source: 'https://example.org/facts/1' },
  p2: { source: 'facts.pdf', metadata: { url: 'https://example.org/facts/2' } },
  p3: { source: 'facts.pdf' },
  p4: {},
}
interface Facts {
  readonly offset?: number
  readonly found?: number
  readonly settings?: Record<string, unknown>
}

/** OpenAI's own client of a service over twenty facts. */
async function withClient(t: Test, { offset = 0, found = 20, settings = {} }: Facts = {}) {
  const { services } = factServices({ offset })
  const inner = await services.retriever.index.view()
  const search: SearchedTable['search'] = async (vector, { k }) =>
    (await inner.search(vector, { k: Math.min(k, found) })).map((hit) => ({ ...hit, ...ORIGINS[hit.id] }))
  const answering = { ...services, retriever: { ...services.retriever, index: { view: () => Promise.resolve({ ...inner, search }) } } }
  const { app } = await testApp(t, { answering }, settings)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { client: new OpenAI({ baseURL: `${address}/v1`, apiKey: 'unused', maxRetries: 0 }), address }
}
const ask = (question: string) => ({ model: 'fake', messages: [{ role: 'user' as const, content: question }] })
const citation = (title: string, url: string) => ({ type: 'url_citation', url_citation: { title, url, start_index: 0, end_index: 2 } })

t.test('an answer cites the passages that say it, by address, source or where they can be read', async (t) => {
  const { client, address } = await withClient(t)
  const cases: [string, object][] = [
    ['what is fact 1', citation('Fact 1', 'https://example.org/facts/1')],
    ['what is fact 2', citation('Fact 2', 'https://example.org/facts/2')],
    ['what is fact 3', citation('Fact 3', 'facts.pdf')],
    ['what is fact 4', citation('Fact 4', `${address}/v1/passages/p4`)],
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
  t.match(refused.choices[0]?.message, { content: null, refusal: String, annotations: [] })
})

t.test('a base path is part of a passage address', async (t) => {
  const { client } = await withClient(t, { settings: { BASE_PATH: '/qa' } })
  const { choices } = await client.chat.completions.create(ask('what is fact 4'))
  t.match(choices[0]?.message.annotations?.[0]?.url_citation.url, /^http:\/\/127\.0\.0\.1:\d+\/qa\/v1\/passages\/p4$/)
})

t.test('by setting, passages are appended to the text; a request has the last word', async (t) => {
  const { client } = await withClient(t, { found: 2, settings: { CHAT_SOURCES: true } })
  const list = 'a1\n\nSources:\n[1] Fact 1, https://example.org/facts/1\n[2] Fact 2, facts.pdf'
  const { choices } = await client.chat.completions.create(ask('what is fact 1'))
  t.equal(choices[0]?.message.content, list)
  t.match(choices[0]?.message.annotations?.[0]?.url_citation, { end_index: 2 }, 'citations are of the answer alone')
  const stream = client.chat.completions.stream(ask('what is fact 1'))
  t.equal(await stream.finalContent(), list)
  const without = { ...ask('what is fact 1'), cepe: { sources: false } }
  t.equal((await client.chat.completions.create(without)).choices[0]?.message.content, 'a1')
})
