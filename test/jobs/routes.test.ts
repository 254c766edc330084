import t, { type Test } from 'tap'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { somePassages, tempDir } from '../index/helpers.ts'
import { embedderOf, toTsv, withJobs } from './helpers.ts'

const KEY = 'a-key-for-tests-only'

async function served(t: Test, options: Parameters<typeof withJobs>[2] = {}) {
  const dir = await tempDir(t)
  await mkdir(join(dir, 'import'))
  const { index, jobs } = await withJobs(t, dir, { importDir: join(dir, 'import'), maxUploadBytes: 100_000, ...options })
  const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder: embedderOf() })
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ADMIN_KEY: KEY }, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const call = async (method: string, path: string, body?: string | Buffer | FormData | object, headers: Record<string, string> = {}) => {
    const plain = typeof body === 'object' && !(body instanceof FormData) && !Buffer.isBuffer(body)
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, ...(plain ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body === undefined ? {} : { body: plain ? JSON.stringify(body) : (body as string) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
    }
  }
  const ended = (response: { json: Record<string, unknown> }): Promise<Job> => jobs.wait(String(response.json.id))
  return { dir, index, jobs, url, call, ended }
}

await t.test('corpora arrive as TSV, JSON lines, gzip, forms and names of files', async (t) => {
  const { dir, index, call, ended } = await served(t)
  const post = (body: string | Buffer | FormData | object, type?: string, query = '') =>
    call('POST', `/v1/admin/index-jobs${query}`, body, type === undefined ? {} : { 'content-type': type })
  const tsv = await post(toTsv(somePassages(10)), 'text/tab-separated-values')
  t.equal(tsv.status, 202)
  t.equal(tsv.headers.get('location'), `/v1/admin/index-jobs/${String(tsv.json.id)}`)
  t.match(await ended(tsv), { state: 'done', counters: { committed: 10 } })
  const jsonl = '{"id": "j", "title": "", "text": "json lines"}\n'
  t.match(await ended(await post(jsonl, 'application/x-ndjson', '?label=mine')), { state: 'done', options: { label: 'mine' } })
  t.equal((await index.get('j'))?.source, 'mine')
  t.match(await ended(await post(gzipSync('{"id": "g", "text": "zipped"}\n'), 'application/gzip')), { state: 'done' })
  const form = new FormData()
  form.append('file', new Blob([`id\ttext\nf\t${'Word word. '.repeat(200)}\n`]), 'long.tsv')
  t.match(await ended(await post(form, undefined, '?split_words=100')), {
    state: 'done',
    source: { name: 'long.tsv' },
    counters: { accepted: 4 },
  })
  await writeFile(join(dir, 'import', 'file.tsv'), toTsv(somePassages(5, 50)))
  t.match(await ended(await post({ source: 'file.tsv', replace: true })), { state: 'done', result: { rows: 5 } })
  const list = await call('GET', '/v1/admin/index-jobs')
  t.equal((list.json.jobs as Job[]).length, 5)
  t.match((await call('GET', '/v1/admin/index')).json, {
    table: 'passages',
    rows: 5,
    kind: 'exact',
    nprobes: 0,
    recall: null,
    question_recall: null,
    schema_version: 3,
    full_text: true,
  })
})

await t.test('what the vector index finds is shown: by stored vectors and by questions', async (t) => {
  const { call, ended } = await served(t, { policy: { exactBelow: 500, minRecall: 0.5, sample: 16 } })
  const job = await ended(
    await call('POST', '/v1/admin/index-jobs', toTsv(somePassages(1000)), { 'content-type': 'text/tab-separated-values' }),
  )
  const { json } = await call('GET', '/v1/admin/index')
  t.match(json, { kind: 'ivf_rq', recall: job.result?.recall })
  const [recall, ofQuestions] = [Number(json.recall), Number(json.question_recall)]
  t.ok(recall >= 0.5 && recall <= ofQuestions && ofQuestions <= 1, `recall ${recall}, of questions ${ofQuestions}`)
})

await t.test('bad requests are refused with a reason', async (t) => {
  const { dir, url, call, jobs } = await served(t)
  const post = (body: string | object | Buffer, type?: string, query = '') =>
    call('POST', `/v1/admin/index-jobs${query}`, body, type === undefined ? {} : { 'content-type': type })
  const refused = async (response: Promise<{ status: number; json: Record<string, unknown> }>, status: number, code: string) => {
    const { status: got, json } = await response
    t.match({ status: got, json }, { status, json: { error: { code } } }, code)
  }
  await refused(call('GET', '/v1/admin/index-jobs', undefined, { authorization: 'Bearer wrong' }), 401, 'unauthorized')
  await refused(post({ source: '../secret' }), 403, 'forbidden')
  await refused(post({ source: 'none.tsv' }), 404, 'not_found')
  await rm(join(dir, 'import'), { recursive: true })
  await refused(post({ source: 'file.tsv' }), 403, 'forbidden')
  await mkdir(join(dir, 'import'))
  await refused(post({ source: 'a', unknown: 1 }), 400, 'invalid_request')
  await refused(post({ nothing: 1 }), 400, 'invalid_request')
  await refused(post(toTsv(somePassages(1)), 'text/tab-separated-values', '?split_words=1'), 400, 'invalid_request')
  await refused(post('no header', 'text/tab-separated-values'), 422, 'corpus_invalid')
  await refused(post('', 'text/tab-separated-values'), 422, 'corpus_invalid')
  await refused(post('PAR1', 'application/octet-stream'), 415, 'unsupported_media_type')
  await refused(post('<x/>', 'application/xml'), 415, 'unsupported_media_type')
  await refused(post(toTsv(somePassages(2000)), 'text/tab-separated-values'), 413, 'payload_too_large')
  const large = new FormData()
  large.append('file', new Blob([toTsv(somePassages(2000))]), 'large.tsv')
  await refused(call('POST', '/v1/admin/index-jobs', large), 413, 'payload_too_large')
  await refused(post(gzipSync(toTsv(somePassages(100))).subarray(0, 500), 'application/gzip'), 422, 'corpus_invalid')
  await refused(call('GET', '/v1/admin/index-jobs/nonsense'), 400, 'invalid_request')
  await refused(call('DELETE', '/v1/admin/index-jobs/20260101T000000000-abcd'), 404, 'not_found')
  await refused(call('GET', '/v1/admin/index'), 503, 'index_missing')
  t.same(await jobs.list(), [])
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `POST /v1/admin/index-jobs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: text/tab-separated-values\r\ncontent-length: 100000\r\n\r\n${toTsv(somePassages(50))}`,
  )
  await sleep(100)
  socket.destroy()
  await sleep(100)
  t.same(await jobs.list(), [], 'an upload that is cut off leaves no job')
})

await t.test('rejected lines can be fetched', async (t) => {
  const { call, ended } = await served(t)
  const response = await call('POST', '/v1/admin/index-jobs?max_rejected_share=0.5', `${toTsv(somePassages(3))}bad\n`, {
    'content-type': 'text/tab-separated-values',
  })
  const { id } = await ended(response)
  const report = await call('GET', `/v1/admin/index-jobs/${id}/report`)
  t.match(report.headers.get('content-type'), /ndjson/)
  t.match(JSON.parse(report.text), { line: 5, reason: 'missing_column' })
  const clean = await ended(
    await call('POST', '/v1/admin/index-jobs', toTsv(somePassages(1)), { 'content-type': 'text/tab-separated-values' }),
  )
  t.match(await call('GET', `/v1/admin/index-jobs/${clean.id}/report`), { status: 200, text: '' })
})

await t.test('passages: upsert, read, delete', async (t) => {
  const { call, index } = await served(t)
  const put = (given: object[]) => call('PUT', '/v1/passages', { passages: given })
  t.match((await put(somePassages(20))).json, { upserted: 20, unchanged: 0 })
  t.match((await put(somePassages(25))).json, { upserted: 5, unchanged: 20 })
  t.match((await call('GET', '/v1/passages/p3', undefined, { authorization: '' })).json, { id: 'p3', title: 'Place 3', source: 'odd.tsv' })
  t.match(await call('GET', '/v1/passages/nope'), { status: 404 })
  t.match(await call('DELETE', '/v1/passages/p3'), { status: 200, json: { deleted: 1 } })
  t.match(await call('DELETE', '/v1/passages/p3'), { status: 404 })
  t.match((await call('POST', '/v1/passages/delete', { filter: { source: 'even.tsv' } })).json, { deleted: 13 })
  t.match((await call('POST', '/v1/passages/delete', { ids: ['p1', 'none'] })).json, { deleted: 1 })
  t.equal(await index.count(), 10)
  t.match(await call('POST', '/v1/passages/delete', { filter: {} }), { status: 400 })
  t.match(await call('POST', '/v1/passages/delete', { filter: { text: 'x' } }), { status: 400 })
  t.match(await put([{ id: 'a', title: '', text: ' ' }]), { status: 400, json: { error: { field: 'passages.0' } } })
  t.match(await put([{ id: 'a\u0001', title: '', text: 'x' }]), { status: 400 })
  t.match(
    await put([
      { id: 'a', title: '', text: 'x' },
      { id: 'a', title: '', text: 'y' },
    ]),
    { status: 400, json: { error: { message: /twice/ } } },
  )
  t.match(await call('PUT', '/v1/passages', { passages: [] }, { authorization: '' }), { status: 401 })
})

await t.test('eight concurrent upserts of the same ids leave no duplicates', async (t) => {
  const { call, index } = await served(t)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, writer) =>
      call('PUT', '/v1/passages', { passages: somePassages(30).map((p) => ({ ...p, text: `${p.text} Writer ${writer}.` })) }),
    ),
  )
  t.same(
    answers.map((answer) => answer.status),
    Array.from({ length: 8 }, () => 200),
  )
  t.equal(await index.count(), 30)
})

/** White space at every place where a reader might drop or change it; none of it is composed further by NFC. */
const SPACED = [
  { id: 's1', title: '  led  ', text: '\n\tcode:\r\n  indented\r\n' },
  { id: 's2', title: '\ttab', text: '\u00a0no-break\u00a0' },
  { id: 's3', title: '', text: '\u3000ideographic\u2028line\u2029paragraph\u0085next\v\f' },
  { id: 's4', title: ' ', text: ' a "quoted\t" field ' },
  { id: 's5', title: 'joiner\u200d', text: 'end mark\ufeff' },
] as const

await t.test('white space, and sources that are absent, survive: an export that is added again is the same, byte for byte', async (t) => {
  const { call, ended, index, url } = await served(t)
  const exported = async () => (await fetch(`${url}/v1/admin/passages/export`, { headers: { authorization: `Bearer ${KEY}` } })).text()
  const sorted = (lines: string) => lines.trimEnd().split('\n').sort()
  const post = async (body: string, type: string, query = '') =>
    ended(await call('POST', `/v1/admin/index-jobs${query}`, body, { 'content-type': type }))
  const passages = SPACED.map((passage) => ({ ...passage, source: ' from \t' }))
  t.equal((await call('PUT', '/v1/passages', { passages })).status, 200)
  const first = await exported()
  t.same(
    sorted(first).map((line) => JSON.parse(line) as unknown),
    passages,
  )
  t.match(await post(first, 'application/x-ndjson'), { state: 'done', counters: { skipped: 5, embedded: 0 } })
  t.match(await post(first, 'application/x-ndjson', '?replace=true'), { state: 'done', counters: { rejected: 0 } })
  t.same(sorted(await exported()), sorted(first))
  const nameless = { id: 'nameless', title: '', text: 'from nowhere', source: '' }
  t.equal((await call('PUT', '/v1/passages', { passages: [nameless] })).status, 200)
  const more = await exported()
  t.ok(more.includes(`${JSON.stringify(nameless)}\n`))
  for (const replace of [false, true])
    t.match(await post(more, 'application/x-ndjson', `?label=other&replace=${replace}`), { state: 'done', counters: { rejected: 0 } })
  t.same(sorted(await exported()), sorted(more))
  t.equal((await call('DELETE', '/v1/passages/nameless')).status, 200)

  const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`
  for (const [type, separator] of [
    ['text/csv', ','],
    ['text/tab-separated-values', '\t'],
  ] as const) {
    const rows = SPACED.map(({ id, title, text }) => [id, title, text].map(quoted).join(separator))
    t.match(await post(`${['id', 'title', 'text'].join(separator)}\n${rows.join('\n')}\n`, type, '?replace=true'), {
      state: 'done',
      counters: { accepted: 5, rejected: 0 },
    })
    for (const { id, title, text } of SPACED) t.match(await index.get(id), { title, text }, `${type}, ${id}`)
  }
  const marked = { id: 'm', title: '\ufeffT', text: '\ufeff marked', source: '\ufeffs' }
  t.equal((await call('PUT', '/v1/passages', { passages: [marked] })).status, 200)
  t.match(await index.get('m'), { title: 'T', text: ' marked', source: 's' }, 'byte order marks in front are removed')
})

await t.test('what the index holds: pages, an export, counts by source', async (t) => {
  const { call, ended, url } = await served(t)
  t.match(await call('GET', '/v1/admin/passages/export'), { status: 503, json: { error: { code: 'index_missing' } } })
  const csv = await call('POST', '/v1/admin/index-jobs?label=a', 'id,text\n1,one\n2,two\n3,three\n', { 'content-type': 'text/csv' })
  t.match(await ended(csv), { state: 'done', counters: { committed: 3 } })
  const own = { passages: [{ id: '4', title: '', text: 'four', source: 'b' }] }
  t.equal((await call('PUT', '/v1/passages', own)).status, 200)
  const first = await call('GET', '/v1/admin/passages?limit=3')
  t.match(first.json, { passages: [{ id: '1', source: 'a' }, { id: '2' }, { id: '3' }], next: '3' })
  t.match((await call('GET', '/v1/admin/passages?limit=4')).json, { next: null }, 'the last page is full')
  t.match((await call('GET', '/v1/admin/passages?limit=3&after=3')).json, { passages: [{ id: '4' }], next: null })
  t.match((await call('GET', '/v1/admin/passages?source=b')).json, { passages: [{ id: '4' }], next: null })
  t.equal((await call('GET', '/v1/admin/passages?limit=5000')).status, 400)
  for (const limit of ['1.5', '', 'true', '0x10', '1e2', ' 1'])
    t.match(
      await call('GET', `/v1/admin/passages?limit=${limit}`),
      { status: 400, json: { error: { code: 'invalid_request', field: 'limit', message: 'limit must be integer.' } } },
      `limit=${limit}`,
    )
  const exported = await fetch(`${url}/v1/admin/passages/export?source=a`, { headers: { authorization: `Bearer ${KEY}` } })
  const lines = (await exported.text()).trim().split('\n')
  t.same(lines.map((line) => (JSON.parse(line) as { text: string }).text).sort(), ['one', 'three', 'two'])
  t.same((await call('GET', '/v1/admin/sources')).json, {
    sources: [
      { source: 'a', passages: 3 },
      { source: 'b', passages: 1 },
    ],
  })
  t.match((await call('POST', '/v1/passages/delete', { filter: { source: 'a' } })).json, { deleted: 3 })
  t.equal((await call('GET', '/v1/admin/sources', undefined, { authorization: 'Bearer wrong' })).status, 401)
})

await t.test('metrics of jobs', async (t) => {
  const { call, ended } = await served(t)
  await ended(await call('POST', '/v1/admin/index-jobs', toTsv(somePassages(5)), { 'content-type': 'text/tab-separated-values' }))
  const { text } = await call('GET', '/metrics')
  t.match(text, /^cepe_index_jobs\{state="done"\} 1$/m)
  t.match(text, /^cepe_index_jobs\{state="stopped"\} 0$/m)
  t.match(text, /^cepe_index_job_passages\{step="committed"\} 0$/m)
})
