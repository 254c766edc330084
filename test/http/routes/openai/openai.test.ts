import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI, { NotFoundError, type APIError } from 'openai'
import t, { type Test } from 'tap'
import { buildApp } from '../../../../src/app.ts'
import { loadConfig } from '../../../../src/config.ts'
import { CodedError } from '../../../../base/errors.ts'
import type { AnswerRead, Reader } from '../../../../src/inference/contract.ts'
import { recordingServices } from '../../../helpers/recording-services.ts'
import { servicesAround } from '../../../helpers/services.ts'

/** A listening service and OpenAI's own client with only a base URL. */
async function withClient(t: Test, changes: Partial<Reader> = {}, settings: Record<string, unknown> = {}) {
  const { services: base, asked } = recordingServices()
  const hit = { id: 'p0', title: 'T0', text: 'text 0', source: 'https://example.org/t0', score: 1, rank: 1 }
  const index = {
    ...base.retriever.index,
    search: () => Promise.resolve([hit, { ...hit, id: 'p1', title: '', source: 'notes.txt', rank: 2 }]),
  }
  const embed = (texts: readonly string[]) => Promise.resolve(texts.map((text) => Float32Array.from([text.length, 0.1])))
  const embedder = { ...base.retriever.embedder, embed }
  const reads: AnswerRead[] = []
  const answer: Reader['answer'] = (read, run) => {
    reads.push(read)
    return base.reader.answer(read, run)
  }
  const answering = { ...base, reader: { ...base.reader, answer, ...changes }, retriever: { embedder, index } }
  const services = await servicesAround(t, answering)
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ...settings }, {}), '0.0.0-test')
  t.teardown(() => app.close())
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { client: new OpenAI({ baseURL: `${address}/v1`, apiKey: 'unused-key', maxRetries: 0 }), asked, reads, address }
}

const ask = (content: string) => ({ model: 'fake', messages: [{ role: 'user' as const, content }] })

t.test('models are listed and found, under their full and their short name', async (t) => {
  const { client } = await withClient(t)
  const { data } = await client.models.list()
  t.match(data, [{ id: /^fake@/, object: 'model', owned_by: 'cepe-qa' }, { id: /^fake@/ }])
  t.equal((await client.models.retrieve(data[0]?.id ?? '')).id, data[0]?.id)
  t.match((await client.models.retrieve('fake')).id, /^fake@/)
  await t.rejects(client.models.retrieve('gpt-4o'), { status: 404, code: 'model_not_found', type: 'invalid_request_error', param: 'model' })
})

t.test('a chat completion answers the last user message, with usage and evidence', async (t) => {
  const { client, asked, reads } = await withClient(t)
  const completion = await client.chat.completions.create({
    model: 'fake',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'what was asked before' },
      { role: 'assistant', content: 'something' },
      { role: 'user', content: [{ type: 'text', text: 'what is the answer' }] },
    ],
    ...{ cepe: { chat_template: 'tokenizer' } },
    max_tokens: 100_000,
    temperature: 0,
    presence_penalty: 0,
    logprobs: false,
    tools: [],
    response_format: { type: 'text' },
    stop: ['.', 'no'],
    user: 'someone',
  })
  t.match(completion, {
    id: /^chatcmpl-/,
    object: 'chat.completion',
    model: /^fake@/,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'yes' } }],
    cepe: { evidence: [{ id: 'p0', source: 'https://example.org/t0' }, { id: 'p1' }], confidence: Number, mode: 'cepe' },
  })
  const { usage } = completion
  t.ok(usage && usage.prompt_tokens > 0 && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens)
  t.equal(usage?.completion_tokens, 2)
  t.match(asked.generate[0], { maxNewTokens: 256, sampling: undefined })
  const earlier = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'what was asked before' },
    { role: 'assistant', content: 'something' },
  ]
  t.match(reads[0], { question: 'what is the answer', earlier, stop: ['.', 'no'] })
})

t.test('options of this service come in the field cepe; sources are numbered, with their URLs', async (t) => {
  const { client, asked, reads, address } = await withClient(t)
  const body = { ...ask('what is it'), cepe: { k: 2, k_decoder: 0, sources: true }, temperature: 0.7, seed: -1 }
  const { choices } = await client.chat.completions.create(body)
  t.equal(choices[0]?.message.content, `yes\n\nSources:\n[1] T0, https://example.org/t0\n[2] p1, ${address}/?passage=p1`)
  t.equal(asked.generate[0]?.contexts.length, 2)
  t.match(reads[0]?.sampling, { temperature: 0.7, topP: 1, seed: 2 ** 32 - 1 })
})

t.test('a streamed completion is put together to the same text', async (t) => {
  const { client } = await withClient(t)
  const stream = client.chat.completions.stream({ ...ask('what is it'), stream_options: { include_usage: true } })
  const chunks: unknown[] = []
  stream.on('chunk', (chunk) => chunks.push(chunk))
  const final = await stream.finalChatCompletion()
  t.match(final.choices[0], { finish_reason: 'stop', message: { content: 'yes', role: 'assistant' } })
  t.match(chunks[0], { object: 'chat.completion.chunk', choices: [{ delta: { role: 'assistant' }, finish_reason: null }] })
  t.match(chunks.at(-2), { choices: [{ finish_reason: 'stop' }], cepe: { evidence: [{ id: 'p0' }, { id: 'p1' }] } })
  t.match(chunks.at(-1), { choices: [], usage: { completion_tokens: 2 } })
})

t.test('a streamed completion comes in deltas as the reader says it; sources come last', async (t) => {
  const { client, address } = await withClient(t, {
    answer: async (read, run) => {
      for (const piece of ['ye', 's']) run?.onText?.(piece)
      await sleep(20)
      for (const piece of [' and', ' no']) run?.onText?.(piece)
      return { ...(await recordingServices().services.reader.answer(read)), text: 'yes and no' }
    },
  })
  const deltas: (string | null | undefined)[] = []
  for (const sources of [false, true]) {
    const stream = await client.chat.completions.create({ ...ask('q'), stream: true, ...({ cepe: { sources, k_decoder: 0 } } as object) })
    for await (const { choices } of stream) deltas.push(choices[0]?.delta.content)
  }
  const list = `\n\nSources:\n[1] T0, https://example.org/t0\n[2] p1, ${address}/?passage=p1`
  // The last two of each are its citations and its end.
  t.same(deltas, ['', 'yes', ' and no', undefined, undefined, '', 'yes', ' and no', list, undefined, undefined])
})

t.test('a streamed completion that fails midway ends with an error that the client raises', async (t) => {
  const { client } = await withClient(t, {
    answer: async (_, run) => {
      run?.onText?.('ye')
      await sleep(20)
      throw new CodedError('deadline_exceeded', 'Too late.')
    },
  })
  const stream = await client.chat.completions.create({ ...ask('q'), stream: true })
  let heard = ''
  const reading = (async () => {
    for await (const { choices } of stream) heard += choices[0]?.delta.content ?? ''
  })()
  await t.rejects(reading, { type: 'server_error', code: 'deadline_exceeded', message: /Too late/ })
  t.equal(heard, 'ye')
})

t.test('embeddings of one text and of many, in either encoding', async (t) => {
  const { client } = await withClient(t)
  const one = await client.embeddings.create({ model: 'fake', input: 'four' })
  t.match(one, { object: 'list', model: /^fake@/, data: [{ object: 'embedding', index: 0 }], usage: { prompt_tokens: 1, total_tokens: 1 } })
  t.same(one.data[0]?.embedding, [4, Math.fround(0.1)])
  const many = await client.embeddings.create({ model: 'fake', input: ['a', 'bb cc'], encoding_format: 'float' })
  t.same(
    many.data.map(({ embedding }) => embedding[0]),
    [1, 5],
  )
  t.equal(many.usage.total_tokens, 3)
  for (const [input, message] of [
    ['', /input is empty/],
    [[], /input has 0 texts/],
    [['a', ''], /input\.1 is empty/],
    [[1, 2], /token ids/],
    [[[1, 2]], /token ids/],
    [Array.from({ length: 2049 }, () => 'a'), /2048/],
    ['x'.repeat(100_001), /has too many characters; the most is 100000/],
  ] as const) {
    const refused = client.embeddings.create({ model: 'fake', input: input as string[] })
    await t.rejects(refused, { status: 400, param: /^input/, type: 'invalid_request_error', message })
  }
  await t.rejects(client.embeddings.create({ model: 'fake', input: 'a', dimensions: 3 }), {
    status: 400,
    param: 'dimensions',
    message: /this model has 2/,
  })
  t.equal((await client.embeddings.create({ model: 'fake', input: 'a', dimensions: 2 })).data.length, 1)
  t.equal((await client.embeddings.create({ model: 'fake', input: '\u{1F600}'.repeat(60_000) })).data.length, 1, '60,000 characters')
  const asQuery = { model: 'fake', input: 'a', input_type: 'query' }
  await t.rejects(client.embeddings.create(asQuery), { status: 400, param: 'input_type', message: /not supported/ })
  const unknown = await client.embeddings.create({ model: 'text-embedding-3-small', input: 'a' }).catch((error: unknown) => error)
  t.ok(unknown instanceof NotFoundError)
})

t.test('errors have the shape that the client reads', async (t) => {
  const { client, asked, address } = await withClient(t)
  await t.rejects(client.chat.completions.create({ ...ask('q'), model: 'gpt-4o' }), {
    status: 404,
    code: 'model_not_found',
    type: 'invalid_request_error',
    param: 'model',
  })
  const cases: [object, string, RegExp][] = [
    [{ model: 'fake', messages: [] }, 'messages', /messages/],
    [{ model: 'fake', messages: [{ role: 'system', content: 'x' }] }, 'messages', /no text from the user/],
    [{ model: 'fake', messages: [...ask('q').messages, { role: 'user', content: ' \n' }] }, 'messages', /no text from the user/],
    [ask('x'.repeat(4097)), 'messages', /4097 characters/],
    [{ ...ask('q'), n: 2 }, 'n', /n/],
    [{ ...ask('q'), tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools', /tools is not supported/],
    [{ ...ask('q'), response_format: { type: 'json_object' } }, 'response_format', /not supported/],
    [{ ...ask('q'), response_format: { type: 'json_schema' } }, 'response_format.json_schema.schema', /must be an object/],
    [
      { ...ask('q'), response_format: { type: 'text', json_schema: {} } },
      'response_format.json_schema.schema',
      /has no effect with type text/,
    ],
    [{ ...ask('q'), top_logprobs: 2 }, 'top_logprobs', /needs logprobs/],
    [{ ...ask('q'), logprobs: true, top_logprobs: 21 }, 'top_logprobs', /<= 20/],
    [{ ...ask('q'), logprobs: true, cepe: { mode: 'replug' } }, 'logprobs', /replug/],
    [
      { ...ask('q'), temperature: 1, cepe: { mode: 'experts' } },
      'temperature',
      /^400 temperature is not available in experts mode: omit it/,
    ],
    [{ ...ask('q'), presence_penalty: 0.5 }, 'presence_penalty', /not supported/],
    [{ ...ask('q'), guided_json: {} }, 'guided_json', /not supported/],
    [{ ...ask('q'), stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', /stop/],
    [{ model: 'fake', messages: [{ role: 'tool', content: 'x', tool_call_id: '1' }, ...ask('q').messages] }, 'messages.0.role', /"tool"/],
    [{ model: 'fake', messages: [...ask('q').messages, { role: 'assistant', content: 'x' }] }, 'messages.1', /must be the last/],
    [
      { model: 'fake', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      'messages.0.content.0.type',
      /only text/,
    ],
    ...Object.entries({ foo: 1, audio: { id: 'a' }, tool_calls: [{ id: '1' }], tool_call_id: '1', prefix: true }).map(
      ([field, value]): [object, string, RegExp] => [
        { model: 'fake', messages: [{ role: 'user', content: 'q', [field]: value }] },
        `messages.0.${field}`,
        /not supported by this service: leave it out/,
      ],
    ),
    [{ model: 'fake', messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages.0.content.0.text', /is missing/],
    [
      { model: 'fake', messages: [{ role: 'user', content: [{ type: 'text', text: 'q', image_url: 'x' }] }] },
      'messages.0.content.0.image_url',
      /not supported/,
    ],
    [{ ...ask('q'), cepe: { k: 1000 } }, 'cepe.k', /k must be <= 200/],
    [{ ...ask('q'), cepe: { kk: 1 } }, 'cepe.kk', /not a known field/],
  ]
  for (const [body, param, message] of cases) {
    const refused = client.chat.completions.create(body as Parameters<typeof client.chat.completions.create>[0])
    await t.rejects(refused, { status: 400, type: 'invalid_request_error', code: 'invalid_request', param, message })
  }
  t.same(asked.generate, [])
  const broken = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  })
  t.equal(broken.status, 400)
  t.match(await broken.json(), { error: { type: 'invalid_request_error', param: null } })
  const busy = await withClient(t, {
    answer: () => Promise.reject(new CodedError('overloaded', 'The queue is full.', { retryAfterS: 3 })),
  })
  for (const stream of [false, true]) {
    const refused = await busy.client.chat.completions.create({ ...ask('q'), stream }).catch((error: unknown) => error)
    t.match(refused, { status: 503, type: 'server_error', code: 'overloaded' })
    t.equal((refused as InstanceType<typeof APIError>).headers?.get('retry-after'), '3')
  }
  const limited = await withClient(t, {}, { RATE_LIMIT: 1 })
  await limited.client.models.list()
  await t.rejects(limited.client.chat.completions.create(ask('q')), { status: 429, type: 'rate_limit_error', message: /rate/i })
})

t.test('messages are taken back with the fields that clients leave in them', async (t) => {
  const { client, reads } = await withClient(t)
  const said = {
    role: 'assistant',
    content: [{ type: 'text', text: 'yes', annotations: [], cache_control: { type: 'ephemeral' } }],
    ...{ refusal: null, annotations: [{ type: 'url_citation' }], audio: null, function_call: null, tool_calls: [], reasoning_content: 'x' },
  }
  const messages = [...ask('what is it').messages, said, { role: 'user', name: 'ann', content: 'q', metadata: null, options: [] }]
  const body = { model: 'fake', messages } as Parameters<typeof client.chat.completions.create>[0]
  await client.chat.completions.create({ ...body, stream: false })
  t.equal(reads[0]?.question, 'q')
})

t.test('embeddings: a text beyond the window is refused, and truncated with truncate: true', async (t) => {
  const { client } = await withClient(t)
  const long = 'word '.repeat(300)
  const create = (input: string | string[], more = {}) => client.embeddings.create({ model: 'fake', input, ...more })
  const message = /^400 input\.1 has more than the 64 tokens that the model reads: shorten or split it, or set truncate: true/
  await t.rejects(create(['a', long]), { status: 400, param: 'input.1', message })
  await t.rejects(create(long, { truncate: false }), { status: 400, param: 'input', message: /^400 input has more/ })
  t.equal((await create(['a', long], { truncate: true })).usage.prompt_tokens, 65)
})

t.test('fields that request nothing are accepted in every way of writing that; others are refused', async (t) => {
  const { address } = await withClient(t)
  const statusOf = async (route: string, body: string) => {
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    return (await fetch(`${address}/v1/${route}`, asked)).status
  }
  for (const [field, nothing, something] of [
    ['tools', ['[]', '{}', 'null'], ['[1]', '{"a":1}', '0', '""']],
    ['tool_choice', ['"none"', '"auto"'], ['"required"', '["none"]']],
    ['modalities', ['[]', '["text"]', '["text","text"]'], ['["audio"]', '["text","audio"]', '"text"']],
    ['frequency_penalty', ['0', '0.0', '-0', '-0.0'], ['1', 'false', '"0"', '[]']],
    ['repetition_penalty', ['1', '1.0'], ['0', 'true']],
    ['min_p', ['0', '-0.0'], ['0.1']],
    ['logit_bias', ['{}', '[]'], ['{"1":2}']],
    ['ignore_eos', ['false'], ['true', '0']],
  ] as const) {
    for (const [values, status] of [
      [nothing, 200],
      [something, 400],
    ] as const)
      for (const value of values) {
        const chat = `{"model":"fake","messages":[{"role":"user","content":"q"}],"${field}":${value}}`
        t.equal(await statusOf('chat/completions', chat), status, `${field}: ${value}`)
      }
  }
  for (const [text, status] of [
    ['{}', 200],
    ['{"format":{"type":"text"}}', 200],
    ['{"format":{"type":"text","name":"plain"}}', 200],
    ['{"verbosity":"low"}', 200],
    ['{"format":{"type":"text"},"verbosity":null}', 200],
    ['{"format":{"type":"json_object"}}', 400],
    ['{"format":{"type":"text"},"other":1}', 400],
    ['"text"', 400],
  ] as const)
    t.equal(await statusOf('responses', `{"model":"fake","input":"q","text":${text}}`), status, text)
  for (const [truncation, status] of [
    ['auto', 200],
    ['disabled', 200],
    ['middle', 400],
  ] as const)
    t.equal(await statusOf('responses', `{"model":"fake","input":"q","truncation":"${truncation}"}`), status, truncation)
})

t.test('each field of a request, at any depth, is read, refused by its path, or named as ignored', async (t) => {
  const { address } = await withClient(t)
  const user = { role: 'user', content: 'q' }
  const schema = { type: 'string' }
  const chat = { model: 'fake', messages: [user] }
  const responses = { model: 'fake', input: [user] }
  const embeddings = { model: 'fake', input: 'q' }
  const documents = { query: 'q', documents: [{ text: 'a' }] }
  const send = (route: string, body: object) =>
    fetch(`${address}${route}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const [CHAT, RESPONSES, EMBEDDINGS, RERANK] = ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/rerank'] as const
  for (const [route, body, path] of [
    [CHAT, { ...chat, other: 1 }, 'other'],
    [CHAT, { ...chat, toString: 1 }, 'toString'],
    [CHAT, { ...chat, stream: true, stream_options: { other: 1 } }, 'stream_options.other'],
    [CHAT, { ...chat, stream: true, stream_options: { include_obfuscation: true } }, 'stream_options.include_obfuscation'],
    [CHAT, { ...chat, response_format: { type: 'text', other: 1 } }, 'response_format.other'],
    [CHAT, { ...chat, response_format: { type: 'json_schema', json_schema: { schema, other: 1 } } }, 'response_format.json_schema.other'],
    [CHAT, { ...chat, messages: [{ ...user, other: 1 }] }, 'messages.0.other'],
    [CHAT, { ...chat, messages: [{ role: 'user', content: [{ type: 'text', text: 'q', other: 1 }] }] }, 'messages.0.content.0.other'],
    [CHAT, { ...chat, tools: [{ type: 'function' }] }, 'tools'],
    [CHAT, { ...chat, cepe: { other: 1 } }, 'cepe.other'],
    [RESPONSES, { ...responses, text: { other: 1 } }, 'text.other'],
    [RESPONSES, { ...responses, text: { format: { type: 'json_schema', schema, other: 1 } } }, 'text.format.other'],
    [RESPONSES, { ...responses, response_format: { type: 'text', other: 1 } }, 'response_format'],
    [RESPONSES, { ...responses, input: [{ ...user, other: 1 }] }, 'input.0.other'],
    [EMBEDDINGS, { ...embeddings, other: 1 }, 'other'],
    [RERANK, { ...documents, other: 1 }, 'other'],
    [RERANK, { ...documents, documents: [{ text: 'a', other: 1 }] }, 'documents.0.other'],
  ] as const) {
    const response = await send(route, body)
    const { error } = (await response.json()) as { error: { param?: string; field?: string } }
    t.same([response.status, error.param ?? error.field], [400, path], `${route} ${JSON.stringify(body)}`)
  }
  const named = { ...user, name: 'ann', id: 'msg_1', annotations: [], content: [{ type: 'text', text: 'q', cache_control: { type: 'x' } }] }
  for (const [route, body, paths] of [
    [CHAT, { ...chat, user: 'ann', store: false, metadata: {}, verbosity: null }, 'user'],
    [CHAT, { ...chat, messages: [named] }, 'messages.0.content.0.cache_control, messages.0.name, messages.0.id'],
    [
      RESPONSES,
      { ...responses, store: true, text: { verbosity: 'low' }, reasoning: { effort: 'low' } },
      'store, text.verbosity, reasoning',
    ],
    [EMBEDDINGS, { ...embeddings, user: 'ann' }, 'user'],
    [RERANK, { ...documents, user: 'ann', priority: 1, max_chunks_per_doc: null }, 'priority, user'],
    [CHAT, { ...chat, stream: true, stream_options: { include_usage: true, include_obfuscation: false } }, null],
  ] as const) {
    const response = await send(route, body)
    t.same([response.status, response.headers.get('x-cepe-ignored')], [200, paths], `${route} ${JSON.stringify(body)}`)
    const text = await response.text()
    if ([CHAT, RESPONSES].some((one) => one === route) && paths !== null)
      t.match(JSON.parse(text), { cepe: { ignored: paths.split(', ') } })
  }
})

t.test('a client that goes away takes its question with it', async (t) => {
  let signal: AbortSignal | undefined
  const { client } = await withClient(t, {
    answer: (_, run) => {
      signal = run?.signal
      return new Promise((_resolve, reject) => run?.signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    },
  })
  const controller = new AbortController()
  const asked = client.chat.completions.create(ask('q'), { signal: controller.signal }).catch(() => undefined)
  while (signal === undefined) await sleep(5)
  controller.abort()
  await asked
  while (!signal.aborted) await sleep(5)
  t.ok(signal.aborted)
})

const FORM = { type: 'json_schema', json_schema: { name: 'form', schema: { type: 'string' } } }

t.test('parameters that other servers take: top_k, reasoning_effort, no limit, no stop, neutral penalties', async (t) => {
  const { client, reads } = await withClient(t)
  const sent = async (more: object) => {
    await client.chat.completions.create({ ...ask('q'), ...more })
    return reads.at(-1)
  }
  t.equal((await sent({ top_k: 40 }))?.sampling, undefined, 'greedy as before')
  t.match((await sent({ top_k: 40, temperature: 1, seed: 7 }))?.sampling, { temperature: 1, topK: 40, seed: 7 })
  for (const none of [-1, 0, null]) t.equal((await sent({ top_k: none, temperature: 1 }))?.sampling?.topK, undefined)
  for (const field of ['max_tokens', 'max_completion_tokens']) t.equal((await sent({ [field]: -1 }))?.maxNewTokens, 256, field)
  for (const stop of ['', [], [''], null]) t.equal((await sent({ stop }))?.stop, undefined)
  t.same((await sent({ stop: ['', 'x'] }))?.stop, ['x'])
  const ignored = { reasoning_effort: 'high', verbosity: 'low', repetition_penalty: 1, min_p: 0, ignore_eos: false }
  t.match(await sent(ignored), { question: 'q' })
  const same = { max_tokens: 5, max_completion_tokens: 5, stream_options: { include_usage: false } }
  t.equal((await sent(same))?.maxNewTokens, 5)
  t.equal((await sent({ max_tokens: null, max_completion_tokens: 5, stream_options: null }))?.maxNewTokens, 5)
  const response = { model: 'fake', input: 'q', reasoning: { effort: 'high' }, top_k: 3, temperature: 1, max_output_tokens: -1 }
  await client.responses.create(response as OpenAI.Responses.ResponseCreateParamsNonStreaming)
  t.match(reads.at(-1), { sampling: { topK: 3 }, maxNewTokens: 256 })
  for (const [more, param] of [
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: 5, max_completion_tokens: 9 }, 'max_tokens'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
    [{ stream: false, stream_options: { include_usage: true } }, 'stream_options'],
    [{ cepe: { sources: true }, response_format: FORM }, 'cepe.sources'],
    [{ cepe: { mode: 'closed-book', method: 'text' } }, 'cepe.method'],
    [{ cepe: { mode: 'decoder-only', k_decoder: 1 } }, 'cepe.k_decoder'],
    [{ max_tokens: -2 }, 'max_tokens'],
    [{ top_k: -2 }, 'top_k'],
    [{ top_k: 1.5 }, 'top_k'],
    [{ repetition_penalty: 1.1 }, 'repetition_penalty'],
    [{ stop: ['a', '', 'b', 'c', 'd'] }, 'stop'],
  ] as const)
    await t.rejects(
      client.chat.completions.create({ ...ask('q'), ...more } as Parameters<typeof client.chat.completions.create>[0]),
      { status: 400, code: 'invalid_request', param },
      param,
    )
})

t.test('a path may end with a slash', async (t) => {
  const { address } = await withClient(t, {}, { BASE_PATH: '/qa' })
  const post = (path: string, body: object) =>
    fetch(`${address}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  for (const path of ['/v1/chat/completions/', '/qa/v1/chat/completions/', '/v1/chat/completions/?x=y', '/v1/answer/?'])
    t.equal((await post(path, path.includes('chat') ? ask('q') : { question: 'q' })).status, 200, path)
  for (const path of ['/v1/models/', '/v1/info/', '/healthz/', '/docs/json/', '/'])
    t.equal((await fetch(`${address}${path}`)).status, 200, path)
  const wrong = await fetch(`${address}/v1/answer/`)
  t.match([wrong.status, wrong.headers.get('allow')], [405, 'POST'])
  t.equal((await fetch(`${address}/v1/nothing/`)).status, 404)
  t.equal((await fetch(`${address}/v1/answer//`)).status, 404)
})
