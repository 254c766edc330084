import { rm } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Passage } from '../../../index/contract.ts'
import { addKey } from '../../../src/keys/store.ts'
import { openKeys } from '../../../src/keys/keys.ts'
import { testApp } from '../helpers.ts'

const ADMIN = { authorization: 'Bearer the-admin-key-of-tests' }
const page = (id: string, position: number, source = 'music/opera.pdf'): Passage => ({
  id,
  title: 'Opera',
  text: `page ${position}`,
  source,
  metadata: { page: position, position },
})
const PASSAGES: readonly Passage[] = [
  page('z', 1),
  page('m', 2),
  page('a', 10),
  page('b', 10),
  { id: 't2', title: '', text: 'row', source: 'Table.tsv' },
  { id: 't1', title: '', text: 'row', source: 'Table.tsv' },
  { id: 'n', title: '', text: 'of no source' },
]

async function served(t: Test, settings: Record<string, unknown> = {}) {
  const made = await testApp(t, {}, { ADMIN_KEY: 'the-admin-key-of-tests', ...settings })
  const add = (passages: readonly Passage[]) =>
    made.services.index.upsert(
      passages,
      passages.map(() => Float32Array.of(1, 0)),
    )
  await add(PASSAGES)
  const get = async (url: string, headers = {}) => {
    const { statusCode, json } = await made.app.inject({ url, headers })
    return { status: statusCode, body: json<Record<string, unknown>>() }
  }
  return { ...made, get, add }
}

t.test('sources in the order of their names, in pages, by a part of the name; new ones at once', async (t) => {
  const { get, add } = await served(t)
  const sources = [
    { source: 'Table.tsv', passages: 2 },
    { source: 'music/opera.pdf', passages: 4 },
    { source: '', passages: 1 },
  ]
  t.same(await get('/v1/sources'), { status: 200, body: { sources, total: { sources: 3, passages: 7 }, next: null } })
  t.match(await get('/v1/sources?limit=1'), { body: { sources: [sources[0]], total: { sources: 3 }, next: 'Table.tsv' } })
  t.match(await get('/v1/sources?limit=1&after='), { body: { sources: [sources[0]], next: 'Table.tsv' } })
  t.match(await get('/v1/sources?limit=1&after=Table.tsv'), { body: { sources: [sources[1]], next: 'music/opera.pdf' } })
  t.match(await get('/v1/sources?limit=1&after=music/opera.pdf'), { body: { sources: [sources[2]], next: null } })
  t.same((await get('/v1/sources?contains=TABLE')).body, { sources: [sources[0]], total: { sources: 1, passages: 2 }, next: null })
  t.match(await get('/v1/sources?limit=1&limit=2'), { status: 400, body: { error: { message: 'limit is set twice: set it once.' } } })
  await add([{ id: 'x', title: '', text: 'x', source: 'late.md' }])
  t.match(await get('/v1/sources'), { body: { total: { sources: 4, passages: 8 } } })
  t.match(await get('/v1/sources?collection=nope'), { status: 404, body: { error: { code: 'unknown_collection' } } })
})

t.test('the passages of a source in reading order, in pages; those without positions by id', async (t) => {
  const { get } = await served(t)
  const ids = ({ body }: { body: Record<string, unknown> }) => (body['passages'] as { id: string }[]).map(({ id }) => id)
  const all = await get('/v1/passages?source=music/opera.pdf')
  t.same(ids(all), ['z', 'm', 'a', 'b'])
  t.match(all, { status: 200, body: { total: 4, order: 'position', next: null } })
  const seen: string[] = []
  for (let after: string | null = ''; after !== null;) {
    const found = await get(`/v1/passages?source=music/opera.pdf&limit=3${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`)
    seen.push(...ids(found))
    after = found.body['next'] as string | null
  }
  t.same(seen, ['z', 'm', 'a', 'b'])
  const first = await get('/v1/passages?source=Table.tsv&limit=1')
  t.match(first, { body: { total: 2, order: 'id', next: 't1' } })
  t.same(ids(await get('/v1/passages?source=Table.tsv&limit=1&after=t1')), ['t2'])
  t.match(await get('/v1/passages?source=Table.tsv&limit=2'), { body: { next: null } })
  t.same(ids(await get('/v1/passages?source=')), ['n'])
  t.match(await get('/v1/passages?source=gone'), { status: 200, body: { passages: [], total: 0, next: null } })
  t.same(ids(await get('/v1/passages')), ['a', 'b', 'm', 'n', 't1', 't2', 'z'], 'of all sources by id')
})

t.test('a cursor continues in its own order, whatever is added or deleted between two pages', async (t) => {
  const { get, add, services } = await served(t)
  const part = (id: string, position: number) => page(id, position, 'doc')
  await add([part('e', 1), part('d', 2), part('c', 3), part('b', 4), part('a', 5)])
  const list = async (after: string | null = null) => {
    const { body } = await get(`/v1/passages?source=doc&limit=2${after === null ? '' : `&after=${encodeURIComponent(after)}`}`)
    return {
      ids: (body['passages'] as { id: string }[] | undefined)?.map(({ id }) => id),
      order: body['order'],
      next: body['next'] as string | null,
      error: body['error'],
    }
  }
  const first = await list()
  t.match(first, { ids: ['e', 'd'], order: 'position' })
  // The first passage by id has no position now; the last of the page is gone.
  await add([{ id: 'A', title: '', text: 'added', source: 'doc' }])
  await services.index.delete(['d'])
  const second = await list(first.next)
  t.match(second, { ids: ['c', 'b'], order: 'position' })
  t.match(await list(second.next), { ids: ['a', 'A'], order: 'position', next: null })

  const byId = await list()
  t.match(byId, { ids: ['A', 'a'], order: 'id', next: 'a' })
  await services.index.delete(['A'])
  t.match(await list(byId.next), { ids: ['b', 'c'], order: 'id', next: 'c' }, 'the others have positions again')
  const everywhere = await get(`/v1/passages?after=${encodeURIComponent(first.next ?? '')}`)
  t.match(everywhere, { status: 400, body: { error: { code: 'invalid_request', field: 'after' } } })
  t.match((await list('x\tb')).error, { code: 'invalid_request', field: 'after' }, 'a cursor that is none is not the end of the list')

  await services.index.delete({ source: 'doc' })
  await add(['\u{1f600}', '\uffee', 'z'].map((id) => part(id, 7)))
  const same = await list()
  t.match(same, { ids: ['z', '\uffee'] }, 'of one position by id, in the order of UTF-8')
  t.match(await list(same.next), { ids: ['\u{1f600}'], next: null })
})

t.test('passages have the address of their file wherever they are given out', async (t) => {
  const { services } = await testApp(t)
  const answering = { ...services.answering, fileOf: ({ id }: { id: string }, name?: string) => `/f/${id}${name ? `?${name}` : ''}` }
  const { app, post, services: own } = await testApp(t, { answering, index: services.index })
  await own.index.upsert([page('z', 1)], [Float32Array.of(1, 0)])
  const json = async (url: string) => (await app.inject(url)).json<Record<string, unknown>>()
  t.match(await json('/v1/passages/z'), { id: 'z', file: '/f/z' })
  t.match(await json('/v1/passages/z?collection=passages'), { file: '/f/z?passages' })
  t.match(await json('/v1/passages?source=music/opera.pdf'), { passages: [{ id: 'z', file: '/f/z' }] })
  t.match((await post('/v1/search', { query: 'q' })).json(), { passages: [{ id: 'p0', file: '/f/p0' }] })
})

t.test('the description of the service says whose key it is and what is kept', async (t) => {
  const { get } = await served(t, { FEEDBACK: '/nowhere/feedback.jsonl', SERVE_FILES: true, IMPORT_DIR: '/nowhere' })
  t.match(await get('/v1/info'), { body: { key: null, feedback: true, files: true } })
  t.match(await get('/v1/info', ADMIN), { body: { key: { name: 'CEPE_ADMIN_KEY', role: 'admin' } } })
  t.match(await get('/v1/info?collection=passages'), { body: { corpus: { about: /about Opera/ } } })
  t.match(await get('/v1/info?collection=nope'), { status: 404, body: { error: { code: 'unknown_collection' } } })
  const { app } = await testApp(t)
  t.match((await app.inject('/v1/info')).json(), { key: null, feedback: false, files: false })
})

t.test('snapshots are taken, listed, restored and deleted', async (t) => {
  const { app, get, services } = await served(t)
  const send = async (method: 'POST' | 'DELETE', url: string, payload?: object) => {
    const { statusCode, json } = await app.inject({ method, url, headers: ADMIN, ...(payload && { payload }) })
    return { status: statusCode, body: json<Record<string, unknown>>() }
  }
  t.match(await get('/v1/admin/snapshots'), { status: 401 })
  t.match(await send('POST', '/v1/admin/snapshots', { name: '../up' }), { status: 400, body: { error: { field: 'name' } } })
  t.match(await send('POST', '/v1/admin/snapshots', { name: 'monday' }), { status: 201, body: { name: 'monday', rows: 7, model: 'fake' } })
  t.match(await send('POST', '/v1/admin/snapshots', { name: 'monday' }), { status: 409 })
  await services.index.delete({ source: 'Table.tsv' })
  t.match(await get('/v1/sources'), { body: { total: { passages: 5 } } })
  t.same(await send('POST', '/v1/admin/snapshots/monday/restore'), { status: 200, body: { restored: 'monday', passages: 7 } })
  t.match(await get('/v1/sources'), { body: { total: { passages: 7 } } }, 'the next request sees it')
  const { body } = await get('/v1/admin/snapshots', ADMIN)
  t.match(body, { snapshots: [{ name: 'monday', created_at: /^\d{4}-/, rows: 7, bytes: Number, model: 'fake' }] })
  t.match(await send('POST', '/v1/admin/snapshots', { name: 'lost' }), { status: 201 })
  const folder = path.join(services.index.dir, 'passages.snapshots', 'lost')
  await rm(path.join(folder, 'snapshot.json'))
  await rm(path.join(folder, 'snapshot.lance'), { recursive: true })
  const lost = { code: 'index_invalid', message: /^The snapshot "lost" is damaged, .*cepe index snapshot delete lost / }
  t.match((await get('/v1/admin/snapshots', ADMIN)).body, {
    snapshots: [
      { name: 'lost', created_at: null, rows: null, model: null, problem: lost },
      { name: 'monday', rows: 7, problem: null },
    ],
  })
  t.same(await send('DELETE', '/v1/admin/snapshots/lost'), { status: 200, body: { deleted: 'lost' } })
  t.same(await send('DELETE', '/v1/admin/snapshots/monday'), { status: 200, body: { deleted: 'monday' } })
  t.match(await send('DELETE', '/v1/admin/snapshots/monday'), { status: 404 })
  t.match(await send('POST', '/v1/admin/snapshots?collection=nope', { name: 'x' }), { status: 404 })
})

t.test('keys are listed without hashes, for an admin of everything alone', async (t) => {
  const dir = t.testdir()
  await addKey(dir, { name: 'ann', role: 'user', questions_per_day: 5, collections: ['contracts'] })
  const bound = await addKey(dir, { name: 'bo', role: 'admin', collections: ['contracts'] })
  const keys = await openKeys({ dir })
  t.teardown(() => keys.close())
  const { app } = await testApp(t, { keys, quotas: { used: (name) => (name === 'ann' ? 3 : 0) } }, { ADMIN_KEY: 'the-admin-key-of-tests' })
  const get = (authorization: string) => app.inject({ url: '/v1/admin/keys', headers: { authorization } })
  const { keys: listed } = (await get(ADMIN.authorization)).json<{ keys: object[] }>()
  t.match(listed, [
    { name: 'ann', role: 'user', created_at: String, questions_per_day: 5, questions_today: 3, collections: ['contracts'] },
    { name: 'bo', role: 'admin', questions_today: 0 },
  ])
  t.notMatch(JSON.stringify(listed), /sha256|[0-9a-f]{64}|cepe_/)
  t.equal((await get(`Bearer ${bound}`)).statusCode, 403)
})

t.test('a form keeps the paths of its files; one that leads out of it is refused', async (t) => {
  const { app, services } = await served(t)
  const upload = async (...names: string[]) => {
    const body = names
      .map((name, i) => `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\nText number ${i}.\r\n`)
      .join('')
    const headers = { ...ADMIN, 'content-type': 'multipart/form-data; boundary=b' }
    return app.inject({ method: 'POST', url: '/v1/admin/index-jobs', headers, payload: `${body}--b--\r\n` })
  }
  const sent = await upload('hand/README.md', 'hand/more/README.md')
  t.equal(sent.statusCode, 202, sent.body)
  await services.jobs.wait(sent.json<{ id: string }>().id)
  t.match(
    (await services.index.sources())
      .map(({ source }) => source)
      .filter((source) => source.startsWith('hand'))
      .sort(),
    ['hand/README.md', 'hand/more/README.md'],
  )
  for (const name of ['../up.md', '/etc/passwd.md', 'a/../../b.md'])
    t.match((await upload(name)).json(), { error: { message: /The form holds the path .* leads out of it/, field: 'file' } }, name)
})
