import { mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { KeptFiles } from '../../src/jobs/kept/kept-files.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { makeZip } from '../fixtures/zip.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { tempDir } from '../index/helpers.ts'
import { embedderOf, withJobs } from './helpers.ts'

const KEY = 'a-key-for-tests-only'
const KB = 1024

function noteOf(name: string, padding = 0): string {
  return `# ${name}\n\nThe lamp ${name} burns.\n<!-- ${'x'.repeat(padding)} -->\n`
}

async function served(t: Test, keepBytes: number) {
  const dir = await tempDir(t)
  const importDir = join(dir, 'import')
  await mkdir(importDir)
  const { index, jobs } = await withJobs(t, dir, { importDir, keepBytes })
  const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder: embedderOf() })
  const folders = { IMPORT_DIR: importDir, JOBS_DIR: join(dir, 'index', 'jobs'), KEYS_DIR: dir }
  const own = { LOG_LEVEL: 'silent', ADMIN_KEY: KEY, SERVE_FILES: true, KEEP_UPLOADS_MB: 1, ...folders }
  const app = await buildApp(services, loadConfig(own, {}), '0.0.0-test')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const upload = async (files: Readonly<Record<string, string | Buffer>>, query = ''): Promise<Job> => {
    const form = new FormData()
    for (const [name, content] of Object.entries(files)) form.append('file', new Blob([content]), name)
    const headers = { authorization: `Bearer ${KEY}` }
    const response = await fetch(`${url}/v1/admin/index-jobs${query}`, { method: 'POST', headers, body: form })
    return jobs.wait(String(((await response.json()) as { id?: string }).id))
  }
  const file = async (source: string) => {
    const [passage] = await index.list({ filter: { source: [source] }, limit: 1 })
    const response = await fetch(`${url}/v1/passages/${encodeURIComponent(passage?.id ?? 'none')}/file`)
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  const contents = () => readdir(join(dir, 'index', 'jobs', 'files', 'content')).catch(() => [])
  return { dir, importDir, index, jobs, upload, file, contents }
}

await t.test('uploaded documents are kept by their content, and given back while their passages stay', async (t) => {
  const { importDir, index, jobs, upload, file, contents } = await served(t, 100 * KB)
  const page = '<title>Bells</title><p>The bell rings in fog.</p><script>alert(1)</script>'
  const zip = makeZip([
    { name: 'a.md', content: noteOf('a') },
    { name: 'deep/b.html', content: page },
    { name: 'broken.pdf', content: 'no pdf' },
  ])
  t.match(await upload({ 'notes.zip': zip }, '?label=handbook'), { state: 'done', files: { indexed: 2 }, warnings: [] })
  t.match(await upload({ 'a copy.md': noteOf('a') }), { state: 'done' })
  t.equal((await contents()).length, 2, 'the same content lies there once, and a file without passages not at all')
  t.match(await file('handbook/a.md'), { status: 200, body: noteOf('a') })
  t.match(await file('a copy.md'), { status: 200, body: noteOf('a') })
  const html = await file('handbook/deep/b.html')
  t.match(html, { status: 200, body: page })
  t.equal(html.headers.get('content-type'), 'application/octet-stream')
  t.equal(html.headers.get('x-content-type-options'), 'nosniff')
  t.match(html.headers.get('content-disposition'), /^attachment; filename\*=UTF-8''b\.html$/)
  t.match(html.headers.get('content-security-policy'), /sandbox/)

  t.match(await upload({ 'a.md': noteOf('newer') }, '?label=handbook'), { state: 'done' })
  t.match(await file('handbook/a.md'), { status: 200, body: noteOf('newer') })
  await index.delete({ source: ['handbook/deep/b.html'] })
  await writeFile(join(importDir, 'a copy.md'), noteOf('of the folder'))
  t.match(await jobs.wait((await jobs.addImport('a copy.md', {})).id), { state: 'done' })
  t.match(await file('a copy.md'), { status: 200, body: noteOf('of the folder') }, 'what was imported since takes its place')
  t.equal((await contents()).length, 1, 'what stands for no passages is gone')
})

await t.test('past the bound those that were uploaded longest ago go; without one none are kept', async (t) => {
  const { upload, file, contents } = await served(t, 10 * KB)
  t.match(await upload({ 'a.md': noteOf('a', 4 * KB) }), { state: 'done', warnings: [] })
  t.match(await upload({ 'b.md': noteOf('b', 4 * KB) }), { state: 'done', warnings: [] })
  const third = await upload({ 'c.md': noteOf('c', 4 * KB) })
  t.match(third, { state: 'done', warnings: [/^1 uploaded file is not kept.*CEPE_KEEP_UPLOADS_MB/] })
  t.match(await file('a.md'), { status: 404, body: /no upload that was kept/ })
  t.match(await file('b.md'), { status: 200 })
  t.match(await file('c.md'), { status: 200 })
  t.match(await upload({ 'large.md': noteOf('large', 20 * KB) }), { state: 'done', warnings: [/is not kept/] })
  t.match(await file('large.md'), { status: 404 })
  t.equal((await contents()).length, 2, 'one that never fits evicts none')

  const none = await served(t, 0)
  t.match(await none.upload({ 'a.md': noteOf('a') }), { state: 'done' })
  t.match(await none.file('a.md'), { status: 404 })
  t.same(await none.contents(), [])
})

await t.test('a kept upload that has changed on the disk is not given out, and is replaced by the next upload', async (t) => {
  const { dir, upload, file, contents } = await served(t, 100 * KB)
  await upload({ 'a.md': noteOf('a') })
  const content = join(dir, 'index', 'jobs', 'files', 'content', (await contents())[0] ?? '')
  for (const text of ['', noteOf('a').slice(0, -9), noteOf('b'), `${noteOf('a')}more`]) {
    await writeFile(content, text)
    t.match(await file('a.md'), { status: 503, body: /index_invalid.*The kept upload a\.md is damaged.*Upload the file again/ }, text)
    t.match(await upload({ 'a.md': noteOf('a') }), { state: 'done', warnings: [] })
    t.match(await file('a.md'), { status: 200, body: noteOf('a') })
  }
})

await t.test('a file whose keeping was interrupted at any step is kept by the next attempt', async (t) => {
  for (const [step, blocked] of [
    ['the record', 'sources'],
    ['the content', 'content'],
  ] as const) {
    const folder = await tempDir(t)
    const kept = new KeptFiles(folder)
    await mkdir(join(folder, 'files'))
    await writeFile(join(folder, 'upload'), 'hello')
    await writeFile(join(folder, 'files', blocked), '')
    await t.rejects(kept.keep('passages', 'a.txt', { path: join(folder, 'upload') }), Error, step)
    await rm(join(folder, 'files', blocked))
    await kept.keep('passages', 'a.txt', { path: join(folder, 'upload') })
    t.equal(await kept.fit(Infinity), 0)
    const found = await kept.find('passages', 'a.txt')
    t.equal(found && (await readFile(kept.contentPath(found), 'utf8')), 'hello', step)
  }
})

await t.test('a content whose record cannot be read is kept', async (t) => {
  const folder = await tempDir(t)
  const kept = new KeptFiles(folder)
  await writeFile(join(folder, 'upload'), 'hello')
  await kept.keep('passages', 'a.txt', { path: join(folder, 'upload') })
  await kept.keep('passages', 'a.txt', { path: join(folder, 'upload') })
  const contents = () => readdir(join(folder, 'files', 'content'))
  const sha256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
  t.same(await contents(), [sha256])
  const [record = ''] = await readdir(join(folder, 'files', 'sources'))
  // The last has one changed bit of the name of the content, which nothing would refer to.
  const changed = (await readFile(join(folder, 'files', 'sources', record), 'utf8')).replace('2cf24', '3cf24')
  for (const text of ['', '{"table": "pass', '{}', 'null', '[]', changed]) {
    await writeFile(join(folder, 'files', 'sources', record), text)
    await t.rejects(kept.fit(Infinity), { code: 'index_invalid', message: new RegExp(`${record}.*upload the file again`) }, text)
    t.same(await contents(), [sha256])
  }
  await rm(join(folder, 'files', 'sources', record))
  await mkdir(join(folder, 'files', 'sources', record))
  await t.rejects(kept.fit(Infinity), { code: 'store_unavailable', message: new RegExp(record) })
  t.same(await contents(), [sha256])
  await rmdir(join(folder, 'files', 'sources', record))
  t.equal(await kept.fit(Infinity), 0)
  t.same(await contents(), [])
})
