import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { Reader } from '../../../../src/inference/contract.ts'
import { factServices } from '../../../helpers/fact-services.ts'
import { testApp } from '../../helpers.ts'

interface Options {
  /** Passages found, best first from the right one on. */
  readonly found?: number
  readonly says?: string
  /** Whether the limit of tokens ends the answer. */
  readonly isCut?: boolean
  readonly titles?: readonly string[]
}

/** OpenAI's own client of a service over twenty facts that appends sources, by setting. */
async function withClient(t: Test, { found = 20, says, isCut = false, titles }: Options = {}) {
  const { services } = factServices()
  const table = await services.retriever.index.view()
  let reads = 0
  const answer: Reader['answer'] = async (read, run) => {
    reads++
    return { ...(await services.reader.answer(read, run)), ...(says !== undefined && { text: says }), ...(isCut && { stopped: false }) }
  }
  const search: typeof table.search = async (vector, { k }) => table.search(vector, { k: Math.min(k, found) })
  const view = () => Promise.resolve({ ...table, search })
  const index = { view, ...(titles && { titles: (count: number) => Promise.resolve(titles.slice(0, count)) }) }
  const answering = { ...services, reader: { ...services.reader, answer }, retriever: { ...services.retriever, index } }
  const { app, post } = await testApp(t, { answering }, { CHAT_SOURCES: true })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { client: new OpenAI({ baseURL: `${address}/v1`, apiKey: 'unused', maxRetries: 0 }), post, address, reads: () => reads }
}

/** What a client shows of a question, by each way of asking: the same words, and nothing cited. */
async function shownBy(t: Test, { client, address }: Awaited<ReturnType<typeof withClient>>, question: string, cepe: object = {}) {
  const chat = { model: 'fake', messages: [{ role: 'user' as const, content: question }], ...{ cepe } }
  const whole = await client.chat.completions.create(chat)
  const message = whole.choices[0]?.message
  const streamed = (await client.chat.completions.stream(chat).finalChatCompletion()).choices[0]?.message
  const response = await client.responses.create({ model: 'fake', input: question, ...{ cepe } })
  const final = await client.responses.stream({ model: 'fake', input: question, ...{ cepe } }).finalResponse()
  for (const one of [streamed?.content, response.output_text, final.output_text]) t.equal(one, message?.content, question)
  t.match(streamed?.refusal, message?.refusal ?? '')
  t.match(final.output, [
    {
      content: [
        { type: 'output_text', annotations: [] },
        { type: 'refusal', refusal: message?.refusal },
      ],
    },
  ])
  t.same(message?.annotations, [])
  const { min_confidence: least } = cepe as { min_confidence?: number }
  if (least === undefined) t.match(await toolText(address, question), message?.content ?? '')
  return { content: message?.content, refusal: message?.refusal, cepe: (whole as { cepe?: object }).cepe }
}

async function toolText(address: string, question: string): Promise<string> {
  const response = await fetch(`${address}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'answer', arguments: { question } } }),
  })
  return (await response.text()).replaceAll('\\"', '"')
}

t.test('where the passages do not say, the nearest sentence is quoted with its title; withheld, empty or not found', async (t) => {
  const nearest = 'The nearest sentence: fact 7 is a7 indeed [Fact 7]'
  const empty = await shownBy(t, await withClient(t, { says: '' }), 'what is fact 7')
  t.match(empty, { content: `The passages do not say. ${nearest}`, refusal: 'The passages do not say.' })
  t.match(empty.cepe, { reason: 'no_answer', abstained: false, extract: { id: 'p7', title: 'Fact 7', text: 'fact 7 is a7 indeed' } })
  const cut = await shownBy(t, await withClient(t, { says: '', isCut: true }), 'what is fact 7')
  const refusal = 'The answer was cut off before its first word: allow more tokens.'
  t.match(cut, { content: `${refusal} ${nearest}`, refusal }, 'the passages may say it')
  const withheld = await shownBy(t, await withClient(t), 'what is fact 7', { min_confidence: 0.99 })
  t.match(withheld, { content: `The passages do not say for sure. ${nearest}`, refusal: 'The passages do not say for sure.' })
  t.match(withheld.cepe, { reason: 'low_confidence', abstained: true, extract: { id: 'p7' } })
  const none = await shownBy(t, await withClient(t, { found: 0 }), 'what is fact 7')
  t.match(none, { content: 'No passage was found to answer from.', cepe: { reason: 'no_passages', extract: null } })
})

t.test('what is no question is told what can be asked, by titles of the corpus; it is neither searched nor read', async (t) => {
  const service = await withClient(t, { titles: ['Aida', 'Giuseppe Verdi'] })
  for (const said of ['hello', 'Thank you!', '👍']) {
    const { content, refusal, cepe } = await shownBy(t, service, said)
    t.equal(content, 'Ask a question about what is in here: 20 passages about Aida and Giuseppe Verdi.', said)
    t.match({ refusal, cepe }, { refusal: 'That is no question about the passages.', cepe: { reason: 'no_question', evidence: [] } })
  }
  t.equal(service.reads(), 0)
  t.match((await service.post('/v1/answer', { question: 'hello' })).json(), { answer: null, reason: 'no_question', suggestion: /Aida/ })
  const bare = await withClient(t)
  t.equal((await shownBy(t, bare, 'hello')).content, 'Ask a question about what is in here: 20 passages.')
  for (const more of [{ mode: 'closed-book' }, { passages: [{ title: '', text: 'hello is a greeting' }] }])
    t.match(
      (await bare.post('/v1/answer', { question: 'hello', ...more })).json(),
      { answer: 'unknown', reason: null },
      'the corpus is not asked',
    )
})

t.test('a follow-up looks past small talk and past turns without an answer', async (t) => {
  const { client } = await withClient(t)
  const turns = (content: string, reply: string) => [
    { role: 'user' as const, content },
    { role: 'assistant' as const, content: reply },
  ]
  const before = [
    ...turns('what is fact 7', 'The passages do not say.'),
    ...turns('ok thanks', 'Ask a question about what is in here: 20 passages.'),
  ]
  for (const [content, asked] of [
    ['and fact 9?', 'what is fact 9'],
    ['what is it made of', 'what is fact 7 made of'],
    ['ok thanks', 'ok thanks'],
  ] as const) {
    const answered = await client.chat.completions.create({ model: 'fake', messages: [...before, { role: 'user', content }] })
    t.match(answered, { cepe: { question: asked } }, content)
  }
})
