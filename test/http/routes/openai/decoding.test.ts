import OpenAI from 'openai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { buildModel } from '../../../../models/build.ts'
import { createReader } from '../../../../src/inference/pool/models/create-reader.ts'
import { recordingServices } from '../../../helpers/recording-services.ts'
import { root } from '../../../helpers/root.ts'
import { testApp } from '../../helpers.ts'
import type { ChatResponse } from '../../../../src/http/routes/openai/schema.ts'

const SURE = 1e-3

const modelDir = await mkdtemp(path.join(tmpdir(), 'cepe-decoding-'))
t.teardown(() => rm(modelDir, { recursive: true, force: true }))
await buildModel({ checkpointDir: path.join(root, 'models/tiny/checkpoint/cepe'), outDir: path.join(modelDir, 'cepe'), dtype: 'f32' })
const reader = await createReader({ modelDir: path.join(modelDir, 'cepe'), threads: 1 })
t.teardown(() => reader.close({ drainMs: 0 }))

const base = recordingServices().services
const passage = { id: 'p0', title: 'Australia', text: 'Australia is a country in Oceania whose capital is Canberra.', score: 1, rank: 1 }
const index = { view: async () => ({ ...(await base.retriever.index.view()), search: () => Promise.resolve([passage]) }) }
const answering = { ...base, reader, retriever: { ...base.retriever, index } }
const question = { model: 'cepe', messages: [{ role: 'user' as const, content: 'what is the capital of australia' }] }

await t.test('logprobs are those of the decoder, and stop and max_tokens hold', async (t) => {
  const { app } = await testApp(t, { answering })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 })

  const plain = await client.chat.completions.create(question)
  t.equal(plain.choices[0]?.logprobs, null)
  for (const top of [0, 5]) {
    const told = await client.chat.completions.create({ ...question, logprobs: true, top_logprobs: top })
    const [choice] = told.choices
    t.equal(choice?.message.content, plain.choices[0]?.message.content, 'the answer is the same')
    const content = choice?.logprobs?.content ?? []
    t.equal(content.map(({ token }) => token).join(''), choice?.message.content)
    for (const { token, logprob, bytes, top_logprobs: others } of content) {
      t.ok(logprob <= 0)
      t.same(bytes, [...Buffer.from(token)])
      t.equal(others.length, top)
      if (top === 0) continue
      t.equal(others[0]?.token, token, 'a greedy token is the likeliest')
      t.ok(Math.abs((others[0]?.logprob ?? 0) - logprob) < SURE)
      t.same(
        others.map((other) => other.logprob).sort((a, b) => b - a),
        others.map((other) => other.logprob),
      )
      t.ok(others.reduce((sum, other) => sum + Math.exp(other.logprob), 0) <= 1 + SURE)
    }
  }
  const stream = client.chat.completions.stream({ ...question, logprobs: true, top_logprobs: 2 })
  const final = await stream.finalChatCompletion()
  t.equal(final.choices[0]?.logprobs?.content?.map(({ token }) => token).join(''), plain.choices[0]?.message.content)
  const sampled = await client.chat.completions.create({
    ...question,
    temperature: 5,
    seed: 3,
    logprobs: true,
    top_logprobs: 3,
    max_tokens: 6,
  })
  const tokens = sampled.choices[0]?.logprobs?.content ?? []
  t.equal(tokens.map(({ token }) => token).join(''), sampled.choices[0]?.message.content)

  const short = await client.chat.completions.create({ ...question, max_tokens: 1 })
  t.match(short, { usage: { completion_tokens: 1 }, choices: [{ finish_reason: 'length' }] })
  const text = plain.choices[0]?.message.content ?? ''
  const stop = text.slice(2, 4)
  const stopped = await client.chat.completions.create({ ...question, stop, logprobs: true })
  t.match(stopped.choices[0], { message: { content: text.slice(0, 2) }, finish_reason: 'stop' })
  t.equal(stopped.choices[0]?.logprobs?.content?.map(({ token }) => token).join(''), text.slice(0, 2), 'tokens are cut as the text is')
})

await t.test('an error names the field as the request has it', async (t) => {
  const { post } = await testApp(t, { answering })
  const content = 'why '.repeat(900)
  const requests = [
    ['messages', '/v1/chat/completions', { messages: [{ role: 'user', content }] }],
    ['input', '/v1/responses', { input: content }],
  ] as const
  for (const [param, url, body] of requests) {
    const refused = await post(url, { model: 'cepe', ...body })
    t.match(refused.json(), { error: { code: 'unprocessable', param, message: /question has \d+ tokens.*: shorten it/ } })
  }
})

await t.test('response_format holds the answer to its schema', async (t) => {
  const { app, post } = await testApp(t, { answering }, { CHAT_SOURCES: true })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 })
  const ask = async (schema: Record<string, unknown>, more: object = {}) => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'answer', strict: true, schema } }
    const { choices } = await client.chat.completions.create({ ...question, response_format, max_tokens: 60, ...more })
    return { value: JSON.parse(choices[0]?.message.content ?? '') as unknown, finish: choices[0]?.finish_reason }
  }
  const cities = ['Vienna', 'Sydney', 'Lima']
  t.ok(cities.includes((await ask({ enum: cities })).value as string), 'the right answer is none of them')
  t.same(await ask({ enum: ['canberra', 'zzz'] }), { value: 'canberra', finish: 'stop' })
  t.type((await ask({ type: 'boolean' })).value, 'boolean')
  t.ok(Number.isInteger((await ask({ type: 'integer' })).value))
  t.type((await ask({ type: 'number' }, { temperature: 2, seed: 1 })).value, 'number')
  const { value: text } = await ask({ type: 'string', maxLength: 8 })
  t.ok(typeof text === 'string' && text.length <= 8)
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string', maxLength: 12 },
      sure: { type: 'boolean' },
      kind: { enum: ['country', 'town'] },
      founded: { type: 'integer' },
    },
    required: ['city', 'sure', 'kind', 'founded'],
    additionalProperties: false,
  }
  for (const more of [{}, { temperature: 1.5, seed: 2 }]) {
    const { value, finish } = await ask(schema, more)
    t.match(value, { city: String, sure: Boolean, kind: /^(country|town)$/, founded: Number })
    t.equal(finish, 'stop')
  }
  const made = { ...schema, properties: { city: schema.properties.city, kind: { enum: ['zzz', 'qqq'] } }, required: ['city', 'kind'] }
  for (const least of [0, 0.5]) {
    const named = { type: 'json_schema', json_schema: { name: 'answer', schema: made } }
    const sent = { ...question, response_format: named, logprobs: true, cepe: { min_confidence: least } }
    const { choices, cepe } = (await post('/v1/chat/completions', sent)).json<ChatResponse>()
    t.match(choices[0]?.message, least === 0 ? { content: /^{"city":"canberra","kind":"(zzz|qqq)"}$/ } : { content: null, refusal: String })
    t.ok(cepe.confidence < 0.1, 'no surer than of a value that the schema alone has put there')
  }
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'answer', schema: { enum: cities } } }
  const streamed = await client.chat.completions.stream({ ...question, response_format }).finalChatCompletion()
  t.ok(cities.includes(JSON.parse(streamed.choices[0]?.message.content ?? '') as string), 'streamed too')
  const refused = await post('/v1/chat/completions', {
    ...question,
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'array' } } },
  })
  t.equal(refused.statusCode, 400)
  t.match(refused.json(), { error: { param: 'response_format.json_schema.schema', message: /not supported. Use enum/ } })
})
