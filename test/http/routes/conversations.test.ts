import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { AnswerRead, Reader } from '../../../src/inference/contract.ts'
import type { ChatTemplate } from '../../../src/text/chat-template.ts'
import { factServices } from '../../helpers/fact-services.ts'
import { testApp } from '../helpers.ts'

type Message = OpenAI.ChatCompletionMessageParam

/** OpenAI's own client of a service over twenty facts, and what its reader was asked. */
async function withClient(t: Test, chatRouteTemplate: ChatTemplate) {
  const { services } = factServices()
  const reads: AnswerRead[] = []
  const answer: Reader['answer'] = (read, run) => {
    reads.push(read)
    return services.reader.answer(read, run)
  }
  const { app } = await testApp(t, { answering: { ...services, reader: { ...services.reader, answer }, chatRouteTemplate } })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { client: new OpenAI({ baseURL: `${address}/v1`, apiKey: 'unused', maxRetries: 0 }), reads }
}

const TURNS: readonly Message[] = [
  { role: 'user', content: 'what is fact 7' },
  { role: 'assistant', content: 'a7\n\nSources:\n[1] Fact 7\n[2] Fact 8' },
]

t.test('a follow-up is searched and asked as a question of its own, and the response says which', async (t) => {
  for (const template of ['none', 'tokenizer'] as const) {
    const { client, reads } = await withClient(t, template)
    const body = { model: 'fake', messages: [...TURNS, { role: 'user' as const, content: 'and fact 9?' }] }
    const completion = await client.chat.completions.create(body)
    t.match(completion, { choices: [{ message: { content: 'a9' } }], cepe: { question: 'what is fact 9', evidence: [{ id: 'p9' }] } })
    const streamed = await client.chat.completions.stream(body).finalChatCompletion()
    t.match(streamed.choices[0]?.message.content, 'a9')
    const kept = [
      { role: 'user', content: 'what is fact 7' },
      { role: 'assistant', content: 'a7' },
    ]
    t.match(reads[0], { question: 'what is fact 9' })
    t.same(reads[0]?.earlier, template === 'tokenizer' ? kept : undefined, `${template}: turns stand where there is room for them`)
  }
})

t.test('a conversation goes on turn by turn, each with the answers before it', async (t) => {
  const { client } = await withClient(t, 'none')
  const messages: Message[] = []
  for (const [said, wanted] of [
    ['what is fact 3', 'a3'],
    ['and fact 4?', 'a4'],
    ['what about fact 5', 'a5'],
    ['what is fact 11', 'a11'],
  ] as const) {
    messages.push({ role: 'user', content: said })
    const { choices } = await client.chat.completions.create({ model: 'fake', messages })
    const content = choices[0]?.message.content ?? ''
    t.equal(content, wanted, said)
    messages.push({ role: 'assistant', content })
  }
})

t.test('a system message is read in a chat template; without one it has no effect, and the response says so', async (t) => {
  const system = { role: 'system' as const, content: 'Be brief.' }
  const developer = { role: 'developer' as const, content: 'Be kind.' }
  const user = { role: 'user' as const, content: 'what is fact 7' }
  for (const template of ['none', 'inst', 'tokenizer'] as const) {
    const { client, reads } = await withClient(t, template)
    const chat = { model: 'fake', messages: [system, developer, user] }
    const isRead = template === 'tokenizer'
    const path = (field: string) => (isRead ? undefined : [`${field}.0`, `${field}.1`])
    const { data, response } = await client.chat.completions.create(chat).withResponse()
    t.match(data.choices[0]?.message.content, 'a7')
    t.same((data as unknown as { cepe: { ignored?: string[] } }).cepe.ignored, path('messages'), template)
    t.equal(response.headers.get('x-cepe-ignored'), isRead ? null : 'messages.0, messages.1')
    t.same(reads[0]?.earlier, isRead ? [system, { role: 'system', content: 'Be kind.' }] : undefined)
    const streamed = await client.chat.completions.create({ ...chat, stream: true }).withResponse()
    t.equal(streamed.response.headers.get('x-cepe-ignored'), isRead ? null : 'messages.0, messages.1')
    const chunks: unknown[] = []
    for await (const chunk of streamed.data) chunks.push(chunk)
    t.match(chunks.at(-1), isRead ? {} : { cepe: { ignored: ['messages.0', 'messages.1'] } })
    const created = await client.responses.create({ model: 'fake', instructions: 'Be brief.', input: [system, user] }).withResponse()
    t.equal(created.response.headers.get('x-cepe-ignored'), isRead ? null : 'instructions, input.0')
    const alone = await client.chat.completions.create({ model: 'fake', messages: [user] }).withResponse()
    t.equal(alone.response.headers.get('x-cepe-ignored'), null)
  }
})

t.test('x-cepe-ignored stays below the headers that proxies pass on; the body has all', async (t) => {
  const { client } = await withClient(t, 'none')
  const messages = [
    ...Array.from({ length: 999 }, () => ({ role: 'system' as const, content: 'Be brief.' })),
    { role: 'user' as const, content: 'q' },
  ]
  const { data, response } = await client.chat.completions.create({ model: 'fake', messages }).withResponse()
  const shown = response.headers.get('x-cepe-ignored') ?? ''
  t.match(shown, /^messages\.0, messages\.1, .*, messages\.48, messages\.49, \.\.\.$/)
  t.ok(shown.length < 2000)
  const { ignored } = (data as unknown as { cepe: { ignored: string[] } }).cepe
  t.same([ignored.length, ignored.at(-1)], [999, 'messages.998'])
})

t.test('POST /v1/answer takes earlier questions, and says what was searched for, streamed too and in batches', async (t) => {
  const { services } = factServices()
  const { post } = await testApp(t, { answering: services })
  const body = { question: 'and fact 9?', earlier: [{ question: 'what is fact 7', answer: 'a7' }] }
  const wanted = { question: 'what is fact 9', answer: 'a9' }
  t.match((await post('/v1/answer', body)).json(), wanted)
  t.match((await post('/v1/answer', { question: 'what is fact 3' })).json(), { question: 'what is fact 3', answer: 'a3' })
  const events = (await post('/v1/answer', { ...body, stream: true })).body.split('\n').filter((line) => line.startsWith('data: '))
  for (const at of [0, -1]) t.match(JSON.parse(events.at(at)?.slice(6) ?? ''), { question: 'what is fact 9' })
  t.match((await post('/v1/answers', { questions: [body] })).json(), { results: [{ result: wanted }] })
  t.match((await post('/v1/answer', { ...body, earlier: [{ question: 'what is fact 7', answer: null }] })).json(), wanted)
  const many = { ...body, earlier: Array.from({ length: 21 }, () => ({ question: 'what is fact 7', answer: 'a7' })) }
  t.match((await post('/v1/answer', many)).json(), { error: { code: 'invalid_request', field: 'earlier' } })
  t.match((await post('/v1/answer', { ...many, earlier: many.earlier.slice(1) })).json(), wanted)
  for (const [earlier, field] of [
    [[{ question: ' ', answer: 'x' }], 'earlier.0.question'],
    [[{ question: 'x' }], 'earlier.0.answer'],
    [[{ question: 'x', answer: 'y', role: 'user' }], 'earlier.0.role'],
  ] as const)
    t.match((await post('/v1/answer', { ...body, earlier })).json(), { error: { code: 'invalid_request', field } }, field)
})

t.test('with a template of its own the reader gets earlier questions as turns', async (t) => {
  const { services } = factServices()
  const reads: AnswerRead[] = []
  const answer: Reader['answer'] = (read, run) => (reads.push(read), services.reader.answer(read, run))
  const { post } = await testApp(t, { answering: { ...services, reader: { ...services.reader, answer } } })
  const body = { question: 'and fact 9?', earlier: [{ question: 'what is fact 7', answer: 'a7' }] }
  await post('/v1/answer', { ...body, chat_template: 'tokenizer' })
  await post('/v1/answer', body)
  t.same(reads[0]?.earlier, [
    { role: 'user', content: 'what is fact 7' },
    { role: 'assistant', content: 'a7' },
  ])
  t.equal(reads[1]?.earlier, undefined)
})
