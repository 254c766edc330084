import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addKey } from '../../src/keys/store.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { startServer } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const SECRET = 'The merger of the moles is planned for May.'
const JOBS = '/v1/admin/index-jobs'

t.test('a collection that was deleted and created again has nothing of the earlier one', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-again-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const keysDir = path.join(dir, 'keys')
  const keys = {
    root: await addKey(keysDir, { name: 'root', role: 'admin' }),
    liz: await addKey(keysDir, { name: 'liz', role: 'admin', collections: ['law'] }),
  }
  const settings = tinyShared(dir, { CEPE_KEYS_DIR: keysDir, CEPE_SERVE_FILES: 'true', CEPE_KEEP_UPLOADS_MB: '10' })
  let server = await startServer(settings)
  t.teardown(() => server.stop('SIGKILL'))
  const send = async (key: keyof typeof keys, call: string, body?: object, more: Record<string, string> = {}) => {
    const isForm = body instanceof FormData
    const response = await fetch(server.url + call.replace(/^\w+ /, ''), {
      method: /^\w+/.exec(call)?.[0] ?? '',
      headers: { authorization: `Bearer ${keys[key]}`, ...(body && !isForm && { 'content-type': 'application/json' }), ...more },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = /json/.test(response.headers.get('content-type') ?? '') && !/ndjson/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, text, json: (json ? JSON.parse(text) : {}) as Partial<Job> & { jobs?: Job[] } }
  }
  const form = (content: string, name = 'handbook.txt') => {
    const made = new FormData()
    made.append('file', new Blob([content]), name)
    return made
  }
  const ended = async (id = '') => {
    for (;;) {
      const { json } = await send('root', `GET ${JOBS}/${id}`)
      if (['done', 'failed', 'stopped', 'cancelled'].includes(json.state ?? '')) return json.state
      await sleep(50)
    }
  }
  const upload = async (collection: string, content: string, headers: Record<string, string> = {}) => {
    const { status, json } = await send('root', `POST ${JOBS}?collection=${collection}`, form(content), headers)
    t.equal(status, 202)
    t.equal(await ended(json.id), 'done')
    return json.id ?? ''
  }
  const idOf = async (collection: string) => {
    const { text } = await send('root', `GET /v1/admin/passages?collection=${collection}`)
    return (JSON.parse(text) as { passages: { id: string }[] }).passages[0]?.id ?? 'none'
  }
  const file = async (key: keyof typeof keys, collection: string) =>
    send(key, `GET /v1/passages/${encodeURIComponent(await idOf(collection))}/file?collection=${collection}`)
  const passages = [{ id: 'p', title: '', text: 'A passage.' }]
  const put = () => send('root', 'PUT /v1/passages?collection=law', { passages }, { 'idempotency-key': 'k' })

  for (const name of ['law', 'med']) t.equal((await send('root', `PUT /v1/collections/${name}`)).status, 201)
  const first = await upload('law', SECRET, { 'idempotency-key': 'upload' })
  const other = await upload('med', SECRET)
  t.match(await put(), { status: 200, json: { upserted: 1 } })
  t.equal((await send('liz', 'POST /v1/admin/snapshots?collection=law', { name: 'old' })).status, 201)
  t.equal((await send('liz', `GET ${JOBS}/${first}`)).status, 200)
  const id = await idOf('law')
  await writeFile(path.join(dir, 'index', 'calibration.law.json'), '{}')

  const again = async () => {
    t.equal((await send('root', 'DELETE /v1/collections/law')).status, 200)
    t.same((await send('liz', `GET ${JOBS}`)).json.jobs, [], 'between the two, its key has no jobs')
    t.equal((await send('root', 'PUT /v1/collections/law')).status, 201)
  }
  await again()
  const nothing = async (job: string) => {
    t.same((await send('liz', `GET ${JOBS}`)).json.jobs, [])
    for (const call of [`GET ${JOBS}/${job}`, `DELETE ${JOBS}/${job}`, `POST ${JOBS}/${job}/resume`, `GET ${JOBS}/${job}/report`])
      t.equal((await send('liz', call)).status, 404, call)
    t.same((await send('liz', 'GET /v1/admin/snapshots?collection=law')).json, { snapshots: [] })
  }
  await nothing(first)
  t.match((await send('liz', 'GET /v1/sources?collection=law')).json, { sources: [] })
  t.notOk((await readdir(path.join(dir, 'index'))).includes('calibration.law.json'))
  t.match((await send('root', `GET ${JOBS}/${first}`)).json, { state: 'done', table: 'law (deleted)' }, 'an unbound key sees the record')

  t.match(
    await put(),
    { status: 200, json: { upserted: 1, unchanged: 0 } },
    'the idempotency key does not replay the response of the earlier one',
  )
  t.match((await send('root', 'GET /v1/passages/p?collection=law')).json, { text: 'A passage.' })
  const claimed = { passages: [{ id, title: '', text: 'A claim.', source: 'handbook.txt' }] }
  t.equal((await send('liz', 'PUT /v1/passages?collection=law', claimed)).status, 200)
  for (const key of ['liz', 'root'] as const)
    t.equal((await send(key, `GET /v1/passages/${encodeURIComponent(id)}/file?collection=law`)).status, 404, 'nor is its upload served')

  t.match(await file('root', 'med'), { status: 200, text: SECRET }, 'the same content of another collection is kept')
  t.match((await send('root', `GET ${JOBS}/${other}`)).json, { state: 'done', table: 'med' })

  const second = await upload('law', 'The moles merge no more.', { 'idempotency-key': 'upload' })
  t.not(second, first)
  t.same(
    (await send('liz', `GET ${JOBS}`)).json.jobs?.map((job) => job.id),
    [second],
  )
  t.equal((await file('liz', 'law')).status, 200)
  t.equal((await readdir(path.join(dir, 'index', 'jobs', 'files', 'content'))).length, 2)
  await again()
  t.equal((await readdir(path.join(dir, 'index', 'jobs', 'files', 'content'))).length, 1, 'its upload is gone from the disk')

  t.equal(await server.stop(), 0)
  server = await startServer(settings)
  await nothing(second)
  t.equal((await send('root', 'PUT /v1/collections/law?copy_of=med')).status, 200)
  await nothing(second)
  const third = await send('liz', `POST ${JOBS}?collection=law&delete_missing=true&label=x`, form('Fresh.', 'other.txt'))
  t.equal(await ended(third.json.id), 'done')
  t.equal(await server.stop(), 0)
})

t.test('a collection with a job that has not ended is kept, and its job too', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-unended-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const server = await startServer(tinyShared(dir, { CEPE_ADMIN_KEY: 'an-admin-key-of-tests' }))
  t.teardown(() => server.stop('SIGKILL'))
  const headers = { authorization: 'Bearer an-admin-key-of-tests' }
  const send = async (method: string, url: string, body?: string) => {
    const more = { ...(body !== undefined && { 'content-type': 'text/csv' }) }
    const response = await fetch(server.url + url, { method, headers: { ...headers, ...more }, ...(body !== undefined && { body }) })
    return { status: response.status, json: (await response.json()) as Partial<Job> & { error?: { code?: string } | null } }
  }
  t.equal((await send('PUT', '/v1/collections/law')).status, 201)
  const rows = Array.from({ length: 20_000 }, (_, i) => `r${i},Row ${i} of the law\n`).join('')
  const { json } = await send('POST', '/v1/admin/index-jobs?collection=law', `id,text\n${rows}`)
  t.match(await send('DELETE', '/v1/collections/law'), {
    status: 409,
    json: { error: { code: 'conflict', message: new RegExp(json.id ?? '') } },
  })
  t.equal((await send('DELETE', `/v1/admin/index-jobs/${json.id}`)).json.state, 'cancelled')
  t.equal((await send('DELETE', '/v1/collections/law')).status, 200)
  t.match((await send('GET', `/v1/admin/index-jobs/${json.id}`)).json, { state: 'cancelled', table: 'law (deleted)' })
  t.equal(await server.stop(), 0)
})
