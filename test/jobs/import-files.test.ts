import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { evidence } from '../../src/rag/evidence.ts'
import { passageLinks } from '../../src/service/storage.ts'
import { makeZip } from '../fixtures/zip.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { embedText, tempDir } from '../index/helpers.ts'
import { embedderOf, withJobs } from './helpers.ts'

const KEY = 'a-key-for-tests-only'
const NOTE = '# Lamps\n\nThe lamp on the mole burns from dusk until dawn.\n'

async function served(t: Test, own: { readonly SERVE_FILES?: boolean } = { SERVE_FILES: true }) {
  const dir = await tempDir(t)
  const importDir = join(dir, 'import')
  await mkdir(join(importDir, 'docs', 'deep'), { recursive: true })
  const { index, jobs } = await withJobs(t, dir, { importDir })
  const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder: embedderOf() })
  const config = loadConfig(
    { LOG_LEVEL: 'silent', ADMIN_KEY: KEY, IMPORT_DIR: importDir, JOBS_DIR: join(dir, 'index', 'jobs'), ...own },
    {},
  )
  const app = await buildApp(services, config, '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const send = (body: object, query: string) =>
    fetch(`${url}/v1/admin/index-jobs${query}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const order = async (source: string, query = '', own: object = {}): Promise<Job> => {
    const response = await send({ source, ...own }, query)
    const job = (await response.json()) as { id?: string }
    return jobs.wait(String(job.id))
  }
  const put = (source: string) =>
    fetch(`${url}/v1/passages`, {
      method: 'PUT',
      headers,
      body: JSON.stringify({ passages: [{ id: source, title: '', text: 'x', source }] }),
    })
  const file = async (id: string, method = 'GET') => {
    const response = await fetch(`${url}/v1/passages/${encodeURIComponent(id)}/file`, { method })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  return { dir, importDir, index, order, send, put, file }
}

await t.test('a folder, a document and an archive of the import folder are jobs, and the files are given back', async (t) => {
  const { importDir, index, order, send, file } = await served(t)
  await writeFile(join(importDir, 'docs', 'lamps.md'), NOTE)
  await writeFile(join(importDir, 'docs', 'deep', 'page é.html'), '<title>Bells</title><p>The bell rings in fog.</p>')
  await writeFile(join(importDir, 'docs', 'ports.tsv'), 'id\ttext\np\tThe port is open.\n')
  await writeFile(join(importDir, 'docs', 'dues.xlsx'), 'PK')
  const job = await order('docs/')
  t.match(job, {
    state: 'done',
    source: { name: 'docs' },
    options: { label: 'docs' },
    files: { indexed: 3, left_out: [{ kind: '.xlsx' }] },
  })
  const sources = await index.sources()
  t.same(sources.map(({ source }) => source).sort(), ['docs/deep/page é.html', 'docs/lamps.md', 'docs/ports.tsv'])
  const idOf = async (source: string) => (await index.list({ filter: { source }, limit: 1 }))[0]?.id ?? ''

  const note = await file(await idOf('docs/lamps.md'))
  t.equal(note.body, NOTE)
  t.equal(note.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(note.headers.get('x-content-type-options'), 'nosniff')
  t.match(note.headers.get('content-disposition'), /^inline; filename\*=UTF-8''lamps\.md$/)
  const page = await file(await idOf('docs/deep/page é.html'))
  t.match(page, { status: 200, body: /The bell rings/ })
  t.equal(page.headers.get('content-type'), 'application/octet-stream', 'what could run in a browser is a download')
  t.match(page.headers.get('content-disposition'), /^attachment; filename\*=UTF-8''page%20%C3%A9\.html$/)
  t.match(page.headers.get('content-security-policy'), /sandbox/)
  t.match(await file('p'), { status: 200, body: /The port is open/ })
  t.match(await file('p', 'HEAD'), { status: 200, body: '' })

  const unread = await send({ source: 'docs/lamps.md' }, '?columns=text%3Da')
  t.match({ status: unread.status, body: await unread.json() }, { status: 400, body: { error: { field: 'columns' } } })
  t.match(await order('docs/lamps.md'), { state: 'done', source: { name: 'lamps.md' }, counters: { skipped: 1 } }, 'the same passages')
  await writeFile(join(importDir, 'more.zip'), makeZip([{ name: 'a.md', content: NOTE }]))
  t.match(await order('more.zip'), { state: 'done', files: { indexed: 1 } })
  t.match(await order('.'), { state: 'done', files: { indexed: 3 } }, 'all of the import folder')
})

await t.test('options of the query hold for a JSON body too; one in both is refused', async (t) => {
  const { importDir, index, order, send } = await served(t)
  for (const name of ['a', 'b', 'c']) await writeFile(join(importDir, `${name}.tsv`), `id\ttext\n${name}\tText of ${name}.\n`)
  await order('a.tsv')
  t.match(await order('b.tsv', '?label=quay&replace=true'), { state: 'done', options: { label: 'quay', replace: true } })
  t.same(await index.sources(), [{ source: 'quay', passages: 1 }], 'the first table is replaced')
  t.match(await order('c.tsv', '?label=quay', { replace: false }), { state: 'done', options: { replace: false, label: 'quay' } })
  t.same(await index.sources(), [{ source: 'quay', passages: 2 }])
  for (const own of [{ replace: false }, { label: 'quay' }, { collection: 'passages' }]) {
    const [field = ''] = Object.keys(own)
    const response = await send({ source: 'c.tsv', ...own }, '?label=quay&replace=true&collection=passages')
    const error = { code: 'invalid_request', field, message: `${field} is set twice: set it once.` }
    t.match({ status: response.status, body: await response.json() }, { status: 400, body: { error } })
  }
})

await t.test('no file is given that is not in the import folder, or of no kind that is indexed', async (t) => {
  const { dir, importDir, put, file } = await served(t)
  await writeFile(join(dir, 'secret.txt'), 'secret')
  await writeFile(join(importDir, '.hidden.txt'), 'secret')
  await writeFile(join(importDir, 'settings.env'), 'secret')
  await mkdir(join(importDir, 'folder.md'))
  await symlink(join(dir, 'secret.txt'), join(importDir, 'link.txt'))
  await symlink(dir, join(importDir, 'out'))
  const sources = ['../secret.txt', join(dir, 'secret.txt'), '.hidden.txt', 'settings.env', 'folder.md', 'link.txt', 'out/secret.txt']
  for (const source of [...sources, 'none.txt', 'https://example.org/a.txt', 'docs/../../secret.txt', 'a\\..\\..\\secret.txt']) {
    t.equal((await put(source)).status, 200, source)
    const { status, body } = await file(source)
    t.equal(status, 404, source)
    t.match(body, /No job read the file of this passage/)
    t.notMatch(body, /secret"/)
  }
  t.equal((await file('unknown')).status, 404)
})

await t.test('files are served only where the service is told to', async (t) => {
  const { importDir, order, index, file } = await served(t, {})
  await writeFile(join(importDir, 'docs', 'lamps.md'), NOTE)
  await order('docs')
  const [passage] = await index.list({ limit: 1 })
  t.match(await file(passage?.id ?? ''), { status: 403, body: /CEPE_SERVE_FILES/ })
})

await t.test('links of evidence: to the page of a PDF, and none for what is no file', async (t) => {
  const link = passageLinks({ BASE_PATH: '/qa', TABLE: 'passages' }, () => Promise.resolve(true))
  t.equal(await link({ id: 'a b.pdf#x', source: 'a b.pdf', metadata: { page: 3 } }), '/qa/v1/passages/a%20b.pdf%23x/file#page=3')
  t.equal(await link({ id: '1', source: 'a.md' }), '/qa/v1/passages/1/file')
  for (const source of [undefined, 'wiki', 'https://example.org/a.pdf', '.a/b.md'])
    t.equal(await link({ id: '1', ...(source && { source }) }), undefined)
  const passage = { id: 'b', title: '', text: 'x', source: 'b.md', score: null }
  const placement = { contextOf: [-1], inDecoder: [true], contextTokenCounts: [] }
  t.match(await evidence([passage], placement, { fileOf: link }), [{ id: 'b', file: '/qa/v1/passages/b/file' }])
  t.notOk('file' in ((await evidence([passage], placement))[0] ?? {}))
})

await t.test('an order that is refused leaves no job, which would run later', async (t) => {
  const dir = await tempDir(t)
  const importDir = join(dir, 'import')
  await mkdir(importDir)
  await writeFile(join(importDir, 'lamps.md'), NOTE)
  const { index, jobs } = await withJobs(t, dir, { importDir })
  await index.upsert([{ id: 'own', title: '', text: 'kept' }], [embedText('kept')])
  // In place of the folder of change logs, as on a disk that cannot be written to.
  const changes = join(dir, 'index', 'passages.changes')
  await rm(changes, { recursive: true, force: true })
  await writeFile(changes, '')
  const orders = [
    () => jobs.addImport('.', { delete_missing: true }),
    () => jobs.addImport('lamps.md', {}),
    () => jobs.addPages({ urls: ['http://127.0.0.1:1/'], hosts: ['127.0.0.1:1'] }, {}),
    () => jobs.addFolder(importDir, {}),
    () => jobs.addFile(join(importDir, 'none.jsonl'), { encoding: 'none' }),
  ]
  for (const order of orders) await t.rejects(order())
  t.same(await readdir(join(dir, 'index', 'jobs')).catch(() => []), [])
  t.same(await jobs.list(), [])
  await rm(changes)
  t.match(await jobs.wait((await jobs.addImport('lamps.md', {})).id), { state: 'done' })
})
