import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { CodedError } from '../../../../base/errors.ts'
import type { AnswerRead, Reader } from '../../../../src/inference/contract.ts'
import type { ChatTemplate } from '../../../../src/text/chat-template.ts'
import { factServices } from '../../../helpers/fact-services.ts'
import { recordingServices } from '../../../helpers/recording-services.ts'
import { testApp } from '../../helpers.ts'

interface Options {
  readonly template?: ChatTemplate
  readonly reader?: Partial<Reader>
  readonly found?: number
}

/** OpenAI's own client of a service over twenty facts, and what its reader was asked. */
async function withClient(t: Test, { template = 'none', reader = {}, found }: Options = {}) {
  const { services } = found === undefined ? factServices() : recordingServices({ found })
  const reads: AnswerRead[] = []
  const answer: Reader['answer'] = (read, run) => {
    reads.push(read)
    return services.reader.answer(read, run)
  }
  const answering = { ...services, reader: { ...services.reader, answer, ...reader }, chatRouteTemplate: template }
  const { app } = await testApp(t, { answering })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { client: new OpenAI({ baseURL: `${address}/v1`, apiKey: 'unused', maxRetries: 0 }), reads, address }
}

t.test('a response says the answer, with its citations and passages', async (t) => {
  const { client, address } = await withClient(t)
  const response = await client.responses.create({
    model: 'fake',
    input: 'what is fact 7',
    store: false,
    text: { format: { type: 'text' } },
  })
  t.equal(response.output_text, 'a7')
  const citation = { type: 'url_citation', title: 'Fact 7', url: `${address}/?passage=p7&mark=10-12`, start_index: 0, end_index: 2 }
  t.match(response, {
    id: /^resp_/,
    object: 'response',
    status: 'completed',
    model: /^fake@/,
    output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', annotations: [citation] }] }],
    cepe: { question: 'what is fact 7', evidence: [{ id: 'p7' }] },
  })
  const { usage } = response
  t.ok(usage && usage.input_tokens > 0 && usage.total_tokens === usage.input_tokens + usage.output_tokens)
})

t.test('messages are a conversation; output of earlier responses may be sent back', async (t) => {
  const { client, reads } = await withClient(t, { template: 'tokenizer' })
  const first = await client.responses.create({ model: 'fake', instructions: 'Be brief.', input: 'what is fact 7', max_output_tokens: 3 })
  const second = await client.responses.create({
    model: 'fake',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'what is fact 7' },
      ...first.output,
      { role: 'user', content: [{ type: 'input_text', text: 'and fact 9?' }] },
    ],
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
  t.equal(second.output_text, 'a9')
  const system = { role: 'system', content: 'Be brief.' }
  t.match(reads[0], { earlier: [system], maxNewTokens: 3 })
  t.same(reads[1]?.earlier, [system, { role: 'user', content: 'what is fact 7' }, { role: 'assistant', content: 'a7' }])
})

t.test('a stream has the events that the client puts together to the same response', async (t) => {
  const { client } = await withClient(t)
  const input = { model: 'fake', input: 'what is fact 7' }
  const types: string[] = []
  const numbers: number[] = []
  for await (const event of await client.responses.create({ ...input, stream: true })) {
    types.push(event.type.replace(/^response\./, ''))
    numbers.push(event.sequence_number)
  }
  t.same(types, [
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.annotation.added',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  t.same(numbers, [...types.keys()])
  const stream = client.responses.stream(input)
  let heard = ''
  stream.on('response.output_text.delta', ({ delta }) => (heard += delta))
  const final = await stream.finalResponse()
  t.equal(heard, 'a7')
  t.equal(final.output_text, 'a7')
  const [message] = (await client.responses.create(input)).output
  t.match(final.output, [{ ...message, id: String }], 'the same message as at once')
})

t.test('deltas come as the reader says them', async (t) => {
  const answer: Reader['answer'] = async (read, run) => {
    run?.onText?.('yes')
    await sleep(20)
    run?.onText?.(' and')
    return { ...(await recordingServices().services.reader.answer(read)), text: 'yes and no', stopped: false }
  }
  const { client } = await withClient(t, { reader: { answer } })
  const deltas: string[] = []
  let last = ''
  for await (const event of await client.responses.create({ model: 'fake', input: 'q', stream: true })) {
    if (event.type === 'response.output_text.delta') deltas.push(event.delta)
    if (event.type === 'response.incomplete') last = event.response.incomplete_details?.reason ?? ''
  }
  t.same(deltas, ['yes', ' and', ' no'])
  t.equal(last, 'max_output_tokens')
})

t.test('where there is no answer its text says so, and a refusal follows, streamed too', async (t) => {
  const { client } = await withClient(t, { found: 0 })
  const words = 'No passage was found to answer from.'
  const content = [
    { type: 'output_text', text: words, annotations: [] },
    { type: 'refusal', refusal: words },
  ]
  const input = { model: 'fake', input: 'what is fact 7' }
  t.match(await client.responses.create(input), {
    output_text: words,
    output: [{ content }],
    cepe: { reason: 'no_passages', extract: null },
  })
  t.match(await client.responses.stream(input).finalResponse(), { output_text: words, output: [{ content }] })
})

t.test('what is not read is refused by name; failures have their status, or end the stream', async (t) => {
  const { client } = await withClient(t)
  const cases: [object, string][] = [
    [{ input: 'q', previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ input: 'q', tools: [{ type: 'web_search' }] }, 'tools'],
    [{ input: 'q', text: { format: { type: 'json_object' } } }, 'text.format'],
    [{ input: 'q', text: { format: { type: 'json_schema', name: 'a', schema: { type: 'array' } } } }, 'text.format.schema'],
    [{ input: 'q', text: { format: { type: 'text', schema: {} } } }, 'text.format.schema'],
    [{ input: 'q', text: { form: 'x' } }, 'text.form'],
    [{ input: 'q', background: true }, 'background'],
    [{ input: 'q', stream: true, stream_options: { include_obfuscation: true } }, 'stream_options'],
    [{ input: [] }, 'input'],
    [{ input: [{ type: 'function_call_output', call_id: '1', output: 'x' }] }, 'input.0.type'],
    [
      {
        input: [
          { role: 'user', content: 'q' },
          { type: 'item_reference', id: 'msg_1' },
        ],
      },
      'input.1.type',
    ],
    [{ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, 'input.0.type'],
    [{ input: [{ content: 'q' }] }, 'input.0.role'],
    [{ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input.0.content.0.text'],
    [{ input: [{ role: 'user', content: 'q', weight: 2 }] }, 'input.0.weight'],
    [{ input: [{ role: 'user', type: 'reasoning', content: 'x' }] }, 'input.0.type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input.0.content.0.type'],
    [{ input: [{ role: 'assistant', content: 'x' }] }, 'input'],
  ]
  const plain = { model: 'fake', input: 'q', stream: true, stream_options: { include_obfuscation: false } } as const
  t.type(await client.responses.create(plain), 'object', 'what asks for nothing is taken')
  for (const [body, param] of cases) {
    const refused = client.responses.create({ model: 'fake', ...body } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
    await t.rejects(refused, { status: 400, code: 'invalid_request', param }, param)
  }
  await t.rejects(client.responses.create({ model: 'gpt-4o', input: 'q' }), { status: 404, code: 'model_not_found' })
  const failing: Reader['answer'] = async (_, run) => {
    run?.onText?.('ye')
    await sleep(20)
    throw new CodedError('deadline_exceeded', 'Too late.')
  }
  const late = await withClient(t, { reader: { answer: failing } })
  const reading = (async () => {
    for await (const _ of await late.client.responses.create({ model: 'fake', input: 'q', stream: true }));
  })()
  await t.rejects(reading, { type: 'server_error', code: 'deadline_exceeded' })
  const busy = await withClient(t, { reader: { answer: () => Promise.reject(new CodedError('overloaded', 'The queue is full.')) } })
  await t.rejects(busy.client.responses.create({ model: 'fake', input: 'q', stream: true }), { status: 503, code: 'overloaded' })
})

t.test('text.format holds the answer to its schema as response_format of a chat does, streamed too', async (t) => {
  const { client, reads } = await withClient(t)
  const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'], additionalProperties: false }
  const named = { name: 'fact', strict: true, schema }
  const input = 'what is fact 7'
  const asked = { model: 'fake', input, text: { format: { type: 'json_schema' as const, ...named } } }
  const response = await client.responses.create(asked)
  t.match(response, { text: { format: asked.text.format } })
  const streamed = await client.responses.stream(asked).finalResponse()
  t.equal(streamed.output_text, response.output_text)
  const messages = [{ role: 'user' as const, content: input }]
  await client.chat.completions.create({ model: 'fake', messages, response_format: { type: 'json_schema', json_schema: named } })
  const grammar = [
    { kind: 'literal', text: '{"answer":' },
    { kind: 'string', maxLength: 500, questions: [] },
    { kind: 'literal', text: '}' },
  ]
  t.same(
    reads.map((read) => read.grammar),
    [grammar, grammar, grammar],
  )
  const without = await withClient(t, { found: 0 })
  const content = [{ type: 'refusal', refusal: 'No passage was found to answer from.' }]
  t.match(await without.client.responses.create(asked), { output_text: '', output: [{ content }] }, 'no words where JSON is asked for')
  t.match(await without.client.responses.stream(asked).finalResponse(), { output: [{ content }] })
  const sources = without.client.responses.create({ ...asked, cepe: { sources: true } } as typeof asked)
  await t.rejects(sources, { status: 400, param: 'cepe.sources', message: /text.format/ })
})
