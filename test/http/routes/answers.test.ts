import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import type { AnswerServices } from '../../../src/rag/pipeline.ts'
import { factServices } from '../../helpers/fact-services.ts'
import { rawConnection, testApp } from '../helpers.ts'

interface Item {
  readonly index: number
  readonly status: number
  readonly result?: { readonly answer: string }
  readonly error?: { readonly code: string; readonly message: string; readonly field?: string; readonly request_id: string }
}

const JSON_TYPE = 'application/json'
const NDJSON_TYPE = 'application/x-ndjson'

async function listening(t: Test, answering: AnswerServices, settings: Record<string, unknown> = {}) {
  const { app } = await testApp(t, { answering }, settings)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const send = (body: string, type = JSON_TYPE, accept = '*/*', init: RequestInit = {}) =>
    fetch(`${address}/v1/answers`, { method: 'POST', headers: { 'content-type': type, accept }, body, ...init })
  return { send, address }
}

async function itemsOf(response: Response): Promise<Item[]> {
  return ((await response.json()) as { results: Item[] }).results
}
function linesOf(text: string): Item[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Item)
}
const fact = (i: number) => ({ question: `what is fact ${i}` })
const facts = (count: number) => Array.from({ length: count }, (_, i) => fact(i))

t.test('every question has its answer, in their order, however long each takes', async (t) => {
  const { services } = factServices({ onAnswer: (question) => sleep(question % 3 === 0 ? 30 : 1) })
  const { send } = await listening(t, services)
  const response = await send(JSON.stringify({ questions: facts(20) }))
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), JSON_TYPE)
  const items = await itemsOf(response)
  t.same(
    items.map(({ index, status, result }) => [index, status, result?.answer]),
    facts(20).map((_, i) => [i, 200, `a${i}`]),
  )
})

t.test('lines in, lines out; either by name', async (t) => {
  const { send } = await listening(t, factServices().services)
  const body = `${JSON.stringify(fact(1))}\n\n${JSON.stringify({ ...fact(2), k: 3 })}\r\n`
  const lines = await send(body, NDJSON_TYPE)
  t.match(lines.headers.get('content-type'), NDJSON_TYPE)
  t.match(linesOf(await lines.text()), [
    { index: 0, result: { answer: 'a1' } },
    { index: 1, result: { answer: 'a2' } },
  ])
  t.match(await itemsOf(await send(body, NDJSON_TYPE, JSON_TYPE)), [{ index: 0 }, { index: 1 }])
  t.match(linesOf(await (await send(JSON.stringify({ questions: [fact(3)] }), JSON_TYPE, NDJSON_TYPE)).text()), [
    { result: { answer: 'a3' } },
  ])

  const type = async (...sent: Parameters<typeof send>) => (await send(...sent)).headers.get('content-type')?.split(';')[0]
  const json = JSON.stringify({ questions: [fact(3)] })
  for (const accept of [`${NDJSON_TYPE};q=0`, `${NDJSON_TYPE};q=0.1, ${JSON_TYPE}`, `${NDJSON_TYPE}; q=0, */*`])
    t.equal(await type(json, JSON_TYPE, accept), JSON_TYPE, `refused, or wanted less: ${accept}`)
  t.equal(await type(body, NDJSON_TYPE, `${NDJSON_TYPE};q=0`), JSON_TYPE)
  t.equal(await type(body, 'Application/X-NDJSON'), NDJSON_TYPE, 'names of types have no case')
  t.equal(await type(json, JSON_TYPE, 'Application/X-NDJSON;q=1.0'), NDJSON_TYPE)
})

t.test('a question that fails fails alone, with the status and the error that it would have had alone', async (t) => {
  const { services } = factServices({
    onAnswer: (question) => {
      if (question === 2) throw new CodedError('unprocessable', 'It does not fit.', { field: 'question' })
    },
  })
  const { send } = await listening(t, services)
  const questions = [fact(1), fact(2), { question: ' ' }, { ...fact(3), k: -1 }, { ...fact(3), stream: true }, 'what', fact(4)]
  const response = await send(JSON.stringify({ questions }), JSON_TYPE, '*/*', {
    headers: { 'content-type': JSON_TYPE, 'x-request-id': 'mine' },
  })
  t.match(await itemsOf(response), [
    { status: 200, result: { answer: 'a1' } },
    { status: 422, error: { code: 'unprocessable', field: 'question', request_id: 'mine' } },
    { status: 400, error: { code: 'invalid_request', field: 'question', message: /blank/ } },
    { status: 400, error: { code: 'invalid_request', field: 'k' } },
    { status: 400, error: { code: 'invalid_request', field: 'stream', message: /not a known field/ } },
    { status: 400, error: { code: 'invalid_request', message: /object/ } },
    { status: 200, result: { answer: 'a4' } },
  ])
  const lines = linesOf(await (await send(`${JSON.stringify(fact(1))}\n{"question": \n${JSON.stringify(fact(2))}`, NDJSON_TYPE)).text())
  t.match(lines, [
    { index: 0, status: 200 },
    { index: 1, status: 400, error: { code: 'invalid_request', message: /^Line 2: The line is not valid JSON/ } },
    { index: 2, status: 422 },
  ])
})

t.test('what is no batch is refused whole', async (t) => {
  const { send } = await listening(t, factServices().services)
  for (const [body, type, status, error] of [
    ['{"questions": []}', JSON_TYPE, 400, { code: 'invalid_request', field: 'questions' }],
    ['{"question": "q"}', JSON_TYPE, 400, { code: 'invalid_request', field: 'question' }],
    [JSON.stringify({ questions: facts(1001) }), JSON_TYPE, 400, { code: 'invalid_request', field: 'questions' }],
    ['{', JSON_TYPE, 400, { code: 'invalid_request' }],
    ['\n', NDJSON_TYPE, 400, { code: 'invalid_request', field: 'questions' }],
    ['x'.repeat(2 ** 20 + 1), NDJSON_TYPE, 413, { code: 'payload_too_large' }],
    ['what', 'text/csv', 415, { code: 'unsupported_media_type', message: /application\/x-ndjson/ }],
  ] as const) {
    const refused = await send(body, type)
    t.equal(refused.status, status)
    t.match(await refused.json(), { error })
  }
})

t.test('a question that finds no place waits and tries again', async (t) => {
  const { services } = factServices()
  let refused = 0
  const admission: AnswerServices['admission'] = {
    enter: (question) => {
      if (refused++ < 5) throw new CodedError('overloaded', 'full', { retryAfterS: 0.05 })
      return services.admission.enter(question)
    },
  }
  const { send } = await listening(t, { ...services, admission })
  const items = await itemsOf(await send(JSON.stringify({ questions: facts(6) })))
  t.ok(items.every(({ status }) => status === 200))
  let told = 0
  const busy: AnswerServices['admission'] = {
    enter: (question) => {
      if (told++ === 0) throw new CodedError('overloaded', 'An answer would take long.', { retryAfterS: 3600 })
      return services.admission.enter(question)
    },
  }
  const patient = await listening(t, { ...services, admission: busy })
  t.match(
    await itemsOf(await patient.send(JSON.stringify({ questions: facts(1) }))),
    [{ status: 200 }],
    'it looks again before the hour is over',
  )
  const full = {
    enter: () => {
      throw new CodedError('overloaded', 'full', { retryAfterS: 1 })
    },
  }
  const short = await listening(t, { ...services, admission: full }, { BATCH_DEADLINE_MS: 300 })
  const late = await itemsOf(await short.send(JSON.stringify({ questions: facts(12) })))
  t.ok(late.length === 12 && late.every(({ status, error }) => status === 504 && error?.code === 'deadline_exceeded'))
  t.match(late[0]?.error?.message, /CEPE_BATCH_DEADLINE_MS/)
})

t.test('so many are in work at a time, as one client, and none after the client has left', async (t) => {
  let working = 0
  let most = 0
  let begun = 0
  const clients = new Set<string | undefined>()
  const { services } = factServices({
    onAnswer: async () => {
      most = Math.max(most, ++working)
      begun++
      await sleep(20)
      working--
    },
  })
  const admission: AnswerServices['admission'] = {
    enter: (question) => {
      clients.add(question.client)
      return services.admission.enter(question)
    },
  }
  const { send } = await listening(t, { ...services, admission })
  const leaving = new AbortController()
  const left = send(JSON.stringify({ questions: facts(500) }), JSON_TYPE, NDJSON_TYPE, { signal: leaving.signal })
  await (await left).body?.getReader().read()
  leaving.abort()
  while (working > 0) await sleep(10)
  const seen = begun
  await sleep(100)
  t.equal(begun, seen, 'nothing is begun after the client has left')
  t.ok(seen < 100, `${seen} of 500 were begun`)
  t.ok(most > 1 && most <= 8, `${most} at a time`)
  t.same([...clients], ['127.0.0.1'])
})

t.test('who does not take the answers stops the batch from going on', async (t) => {
  let begun = 0
  const { services } = factServices({ onAnswer: () => void begun++ })
  const text = `${'word '.repeat(20_000)}.`
  const hits = Array.from({ length: 10 }, (_, i) => ({ id: `p${i}`, title: 'Fact', text, score: 1, rank: i + 1 }))
  const table = await services.retriever.index.view()
  const index = { ...services.retriever.index, view: () => Promise.resolve({ ...table, search: () => Promise.resolve(hits) }) }
  const { address } = await listening(t, { ...services, retriever: { ...services.retriever, index } })
  const { socket } = await rawConnection(t, address)
  socket.pause()
  const body = JSON.stringify({ questions: Array.from({ length: 1000 }, () => ({ question: 'q', k: 10, k_decoder: 0, method: 'dense' })) })
  socket.write(
    `POST /v1/answers HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${JSON_TYPE}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  let seen = -1
  while (begun === 0 || begun !== seen) {
    seen = begun
    await sleep(500)
  }
  t.ok(begun < 100, `${begun} of 1000 answers of a megabyte were begun`)
})
