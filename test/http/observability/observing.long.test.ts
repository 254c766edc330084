import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/package.ts'
import { createDocumentParser } from '../../../src/documents/parser.ts'
import type { DocumentReader } from '../../../src/inference/contract.ts'
import { observedReader } from '../../../src/inference/observed-reader.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { testApp } from '../helpers.ts'

const QUESTION = { question: 'q', k: 3 }

function observed() {
  const { services } = recordingServices()
  return { ...services, reader: observedReader(services.reader) }
}

/** Names and labels of what a scrape gave. */
function samples(text: string): Map<string, number> {
  return new Map([...text.matchAll(/^([a-z]\S*) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]))
}

t.test('metrics tell stages, tokens, refusals by code, processes and their caches', async (t) => {
  const processes = () => [
    { role: 'reader', queued: 2, busy: 1, ready: 1, restarts: 0, rssBytes: 1000, cache: { hits: 5, misses: 2, bytes: 77 } },
    { role: 'embedder', queued: 0, busy: 0, ready: 1, restarts: 0, rssBytes: 500 },
  ]
  const { app, post } = await testApp(t, { answering: observed(), processes })
  for (let i = 0; i < 2; i++) t.equal((await post('/v1/answer', QUESTION)).statusCode, 200)
  t.equal((await post('/v1/answer', {})).statusCode, 400)
  t.equal((await post('/v1/chat/completions', { model: 'none', messages: [{ role: 'user', content: 'q' }] })).statusCode, 404)
  const scrape = async () => samples((await app.inject('/metrics')).body)
  await scrape()
  const told = await scrape()
  for (const stage of ['embed', 'search', 'queue', 'plan', 'encode', 'generate'])
    t.equal(told.get(`cepe_stage_duration_seconds_count{stage="${stage}"}`), 2, stage)
  t.equal(told.get('cepe_stage_duration_seconds_sum{stage="generate"}'), 0.004)
  t.equal(told.get('cepe_tokens_total{kind="generated"}'), 4)
  t.ok((told.get('cepe_tokens_total{kind="context"}') ?? 0) > 0)
  t.equal(told.get('cepe_errors_total{code="invalid_request"}'), 1)
  t.equal(told.get('cepe_errors_total{code="not_found"}'), 1)
  t.equal(told.get('cepe_state_cache_lookups_total{outcome="hit"}'), 5, 'as told, however often it is scraped')
  t.equal(told.get('cepe_state_cache_bytes{role="reader"}'), 77)
  t.equal(told.get('cepe_inference_resident_memory_bytes{role="embedder"}'), 500)
})

/** Answers from a document, read by a reader that takes known times. */
async function askedOfDocument(t: Test, settings: Record<string, unknown> = {}) {
  const { services: answering } = recordingServices()
  const document: DocumentReader['document'] = () =>
    Promise.resolve({
      text: 'yes',
      stopped: true,
      logprobs: [-0.1, -0.2],
      chunks: [20, 30].map((tokens, i) => ({ start: i, end: i + 1, tokens })),
      contextShares: [0.5, 0.5],
      inDecoder: [],
      documentTokens: 50,
      promptTokens: 9,
      prompts: [],
      contexts: [],
      timingsMs: { queue: 3, plan: 1, encode: 4, generate: 2 },
    })
  const { manifest } = answering.reader
  const reader = { manifest, document }
  const parser = createDocumentParser({ parseMs: 10_000 })
  t.teardown(() => parser.close())
  const services = { reader, admission: answering.admission, documentTokens: 1000, chatTemplate: 'none' as const }
  const { app, post } = await testApp(t, { documents: { services, parser } }, settings)
  t.equal((await post('/v1/documents/answer', { text: 'a secret document', question: 'q' })).statusCode, 200)
  return { app, post }
}

t.test('questions of documents are told like any other', async (t) => {
  const { app, post } = await askedOfDocument(t)
  t.equal((await post('/v1/documents/answer', { question: 'q' })).statusCode, 400)
  const told = samples((await app.inject('/metrics')).body)
  for (const stage of ['parse', 'queue', 'plan', 'encode', 'generate'])
    t.equal(told.get(`cepe_stage_duration_seconds_count{stage="${stage}"}`), 1, stage)
  t.equal(told.get('cepe_stage_duration_seconds_sum{stage="queue"}'), 0.003)
  t.equal(told.get('cepe_tokens_total{kind="context"}'), 50)
  t.equal(told.get('cepe_tokens_total{kind="prompt"}'), 9)
  t.equal(told.get('cepe_tokens_total{kind="generated"}'), 2)
  t.equal(told.get('cepe_errors_total{code="invalid_request"}'), 1)
  t.equal((await post('/v1/embeddings', { model: 'fake', input: 'x' })).statusCode, 200)
  t.equal(samples((await app.inject('/metrics')).body).get('cepe_stage_duration_seconds_count{stage="embed"}'), 1)

  const { url, spans, text } = await receiver(t)
  await (await askedOfDocument(t, { TRACES_URL: url })).app.close()
  t.same(spans.map(({ name }) => name).sort(), ['POST /v1/documents/answer', 'encode', 'generate', 'parse', 'plan', 'queue'])
  t.notMatch(text(), /secret/)
})

t.test('jobs that cannot be looked at are missing from a scrape, and nothing else is', async (t) => {
  let looks = 0
  let away = true
  const { services } = await testApp(t)
  const list = () => {
    looks++
    return away ? Promise.reject(new Error('the folder is away')) : Promise.resolve([])
  }
  const { app } = await testApp(t, { jobs: { ...services.jobs, list } })
  const scrape = async () => {
    const response = await app.inject('/metrics')
    t.equal(response.statusCode, 200)
    return samples(response.body)
  }
  const without = await scrape()
  t.equal(without.get('cepe_inference_restarts_total{role="reader"}'), 0)
  t.notOk(without.has('cepe_index_jobs{state="queued"}'))
  away = false
  t.equal((await scrape()).get('cepe_index_jobs{state="queued"}'), 0)
  t.equal(looks, 2, 'one look at the disk a scrape')
})

t.test('every metric that the dashboard shows is one of the service', async (t) => {
  const { app, post } = await testApp(t, { answering: observed() })
  await post('/v1/answer', QUESTION)
  const known = new Set([...(await app.inject('/metrics')).body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '']) => name))
  const file = path.join(packageRoot(), 'deploy/grafana/dashboards/cepe-qa.json')
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: { title: string; targets: { expr: string }[] }[] }
  const shown = new Set<string>()
  for (const { title, targets } of panels) {
    const names = targets.flatMap(({ expr }) => expr.replaceAll(/"[^"]*"/g, '').match(/\b(?:cepe|process|nodejs)_\w+/g) ?? [])
    t.ok(names.length > 0, `${title} shows something`)
    for (const name of names) shown.add(name.replace(/(?<=_seconds)_(bucket|sum|count)$/, ''))
  }
  for (const name of shown) t.ok(known.has(name), name)
  for (const name of known) if (name.startsWith('cepe_')) t.ok(shown.has(name), `${name} is on the dashboard`)
})

interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: { key: string; value: { stringValue?: string; intValue?: number; arrayValue?: object } }[]
  readonly status?: { code?: number }
}

/** A receiver of OTLP in JSON. */
async function receiver(t: Test) {
  const spans: Span[] = []
  let text = ''
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      text += body
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1/traces`, spans, text: () => text }
}

t.test('traces: a span for the request and one for each stage, in the trace of whoever asks', async (t) => {
  const { url, spans, text } = await receiver(t)
  const { app } = await testApp(t, { answering: observed() }, { TRACES_URL: url })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const trace = 'a'.repeat(32)
  const ask = (body: object) =>
    fetch(`${address}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', traceparent: `00-${trace}-${'b'.repeat(16)}-01`, 'x-request-id': 'mine' },
      body: JSON.stringify(body),
    })
  t.equal((await ask({ question: 'a secret question', k: 3 })).status, 200)
  t.equal((await ask({ k: 3 })).status, 400)
  await (await fetch(`${address}/healthz`)).text()
  await app.close()

  const requests = spans.filter(({ name }) => name === 'POST /v1/answer')
  t.equal(requests.length, 2)
  const [answered, refused] = requests
  t.match(answered, { traceId: trace, parentSpanId: 'b'.repeat(16), kind: 2 })
  const attributes = new Map(answered?.attributes.map(({ key, value }) => [key, value.intValue ?? value.stringValue]))
  t.match(Object.fromEntries(attributes), {
    'http.request.method': 'POST',
    'http.route': '/v1/answer',
    'http.response.status_code': 200,
    'cepe.request_id': 'mine',
    'cepe.tokens.generated': 2,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'cepe',
    'gen_ai.request.model': /^fake@/,
    'gen_ai.response.model': /^fake@/,
    'gen_ai.request.max_tokens': 5,
    'gen_ai.usage.output_tokens': 2,
  })
  t.equal(
    attributes.get('gen_ai.usage.input_tokens'),
    Number(attributes.get('cepe.tokens.prompt')) + Number(attributes.get('cepe.tokens.context')),
  )
  t.match(
    answered?.attributes.find(({ key }) => key === 'gen_ai.response.finish_reasons'),
    {
      value: { arrayValue: { values: [{ stringValue: 'stop' }] } },
    },
  )
  t.match(refused?.attributes, [
    {},
    {},
    {},
    { key: 'http.response.status_code', value: { intValue: 400 } },
    { key: 'error.type', value: { stringValue: 'invalid_request' } },
  ])
  const stages = spans.filter(({ parentSpanId }) => parentSpanId === answered?.spanId)
  t.same(stages.map(({ name }) => name).sort(), ['embed', 'encode', 'generate', 'plan', 'queue', 'search'])
  for (const { name, traceId, startTimeUnixNano: start, endTimeUnixNano: end } of stages) {
    t.equal(traceId, trace, name)
    t.ok(BigInt(end) >= BigInt(start), `${name} ends after it began`)
  }
  t.equal(spans.length, 2 + stages.length, 'probes make none')
  t.notMatch(text(), /secret/, 'what is asked stays here')
})

t.test('a receiver that is not there costs a line in the log, and no request', async (t) => {
  const { app, post } = await testApp(t, { answering: observed() }, { TRACES_URL: 'http://127.0.0.1:9/v1/traces' })
  t.equal((await post('/v1/answer', QUESTION)).statusCode, 200)
  await app.close()
})
