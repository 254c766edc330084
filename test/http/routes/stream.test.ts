import { once } from 'node:events'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import type { Reader } from '../../../src/inference/contract.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { speakingReader, testApp, type ErrorBody } from '../helpers.ts'
import { until } from '../../helpers/until.ts'

interface ServerEvent {
  readonly event: string
  readonly data: Record<string, unknown>
}

/** Events of a whole body. */
function eventsOf(body: string): ServerEvent[] {
  return body
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
      return { event, data: JSON.parse(data) as Record<string, unknown> }
    })
}

/** A listening service whose reader does as the test says. */
async function listening(t: Test, reader: Partial<Reader> = {}, settings: Record<string, unknown> = {}) {
  const { services } = recordingServices()
  const answering = { ...services, reader: { ...services.reader, ...reader } }
  const { app } = await testApp(t, { answering }, settings)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = (body: object, init: RequestInit = {}, path = '') =>
    fetch(`${address}/v1/answer${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...init,
    })
  return { ask, services, address }
}

t.test('evidence, tokens, the answer: in this order, and the answer is the whole body', async (t) => {
  const { ask } = await listening(t)
  const whole = (await (await ask({ question: 'what is it' })).json()) as Record<string, unknown>
  const response = await ask({ question: 'what is it', stream: true })
  t.equal(response.status, 200)
  const streamed = eventsOf(await (await ask({ question: 'what is it' }, {}, '/stream')).text())
  t.match(
    streamed.map(({ event }) => event),
    ['evidence', 'token', 'answer'],
  )
  t.match(streamed[2]?.data, { answer: 'yes', question: 'what is it' })
  t.equal((await ask({ question: 'what is it', stream: true }, {}, '/stream')).status, 400, 'there it is no field')
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  t.ok(response.headers.get('x-request-id'))
  const events = eventsOf(await response.text())
  t.same(
    events.map(({ event }) => event),
    ['evidence', 'token', 'answer'],
  )
  t.match(events[0]?.data, { evidence: [{ id: 'p0', title: 'T0', text: 'text 0', score: 10, rank: 1 }], index: { table: 'passages' } })
  t.same(events[1]?.data, { text: 'yes' })
  const answer = events[2]?.data ?? {}
  t.same({ ...answer, timings_ms: 0 }, { ...whole, timings_ms: 0 })
  t.same(Object.keys(answer['timings_ms'] as object).sort(), Object.keys(whole['timings_ms'] as object).sort())
  t.equal((await ask({ question: 'what is it', stream: false })).headers.get('content-type'), 'application/json; charset=utf-8')
})

t.test('a token is there before the next is made', async (t) => {
  const { answer, held } = speakingReader(['the', ' black', ' sea'])
  const { ask } = await listening(t, { answer })
  const body = (await ask({ question: 'q', stream: true })).body?.pipeThrough(new TextDecoderStream()).getReader()
  let seen = ''
  for (const word of ['evidence', '"the"', '" black"', '" sea"']) {
    while (!seen.includes(word)) seen += (await body?.read())?.value ?? ''
    await until(() => held.length > 0 || word === '" sea"')
    held.pop()?.go()
  }
  for (let next = await body?.read(); next?.done === false; next = await body?.read()) seen += next.value
  t.same(
    eventsOf(seen).map(({ event }) => event),
    ['evidence', 'token', 'token', 'token', 'answer'],
  )
})

t.test('nothing to answer from: no token, and the reason in the answer', async (t) => {
  const { ask } = await listening(t)
  const events = eventsOf(await (await ask({ question: 'q', passages: [], stream: true })).text())
  t.match(events, [
    { event: 'evidence', data: { evidence: [] } },
    { event: 'answer', data: { answer: null, reason: 'no_passages' } },
  ])
})

t.test('what is wrong before anything is sent has its own status', async (t) => {
  const { services } = recordingServices()
  const admission = {
    enter: () => {
      throw new CodedError('overloaded', 'full', { retryAfterS: 7 })
    },
  }
  const { post } = await testApp(t, { answering: { ...services, admission } })
  const refused = await post('/v1/answer', { question: 'q', stream: true })
  t.equal(refused.statusCode, 503)
  t.equal(refused.headers['retry-after'], '7')
  t.match(refused.json(), { error: { code: 'overloaded' } })
  t.match((await post('/v1/answer', { question: 'q', stream: 'yes' })).json(), { error: { code: 'invalid_request', field: 'stream' } })
})

t.test('a stream that fails midway ends with the error, in the documented shape', async (t) => {
  const { answer, held } = speakingReader(['one', ' two'])
  const { ask } = await listening(t, { answer })
  const response = await ask({ question: 'q', stream: true }, { headers: { 'content-type': 'application/json', 'x-request-id': 'mine' } })
  await until(() => held.length === 1)
  held[0]?.go()
  await until(() => held.length === 2)
  held[1]?.fail(new CodedError('deadline_exceeded', 'Too late at /var/lib/models/x.onnx'))
  const events = eventsOf(await response.text())
  t.same(
    events.map(({ event }) => event),
    ['evidence', 'token', 'error'],
  )
  const error: ErrorBody['error'] = { code: 'deadline_exceeded', message: 'Too late at <path>', request_id: 'mine' }
  t.same(events[2]?.data, { error })
})

t.test('who leaves is not answered any further', async (t) => {
  const { answer, left } = speakingReader(['one', ' two'])
  const { ask } = await listening(t, { answer })
  const leaving = new AbortController()
  const response = await ask({ question: 'q', stream: true }, { signal: leaving.signal })
  await response.body?.getReader().read()
  leaving.abort()
  await until(() => left() === 1)
  t.pass('the reader was told')
})

t.test('text that is not taken is put together', async (t) => {
  const { services } = recordingServices()
  const { reader } = services
  const answer: Reader['answer'] = async (read, run) => {
    for (let i = 0; i < 200; i++) run?.onText?.('x')
    return { ...(await reader.answer(read)), text: 'x'.repeat(200) }
  }
  const { ask } = await listening(t, { answer })
  const events = eventsOf(await (await ask({ question: 'q', stream: true })).text())
  t.equal(events.filter(({ event }) => event === 'token').length, 1)
  t.same(events[1]?.data, { text: 'x'.repeat(200) })
})

t.test('a shutdown ends a stream with the answer, or the error', async (t) => {
  const { answer, held } = speakingReader(['one'])
  const { services } = recordingServices()
  const { app } = await testApp(t, { answering: { ...services, reader: { ...services.reader, answer } } })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${address}/v1/answer`, { method: 'POST', headers, body: JSON.stringify({ question: 'q', stream: true }) })
  await until(() => held.length === 1)
  const drained = app.drain(5_000)
  held[0]?.go()
  t.equal(eventsOf(await response.text()).at(-1)?.event, 'answer')
  await drained
  await app.close()
  if (app.server.listening) await once(app.server, 'close')
})
