import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { publicText } from '../../src/http/errors/public-text.ts'
import type { Job } from '../../src/jobs/record/schema.ts'
import { addKey } from '../../src/keys/store.ts'
import { startServer } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const ADMIN_KEY = 'hunter2-of-a-test'

t.test('no log shows a key or the query of an address, and no response a path of the machine', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-secrets-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const [importDir, keysDir, indexDir] = ['import', 'keys', 'index'].map((name) => path.join(dir, name)) as [string, string, string]
  await mkdir(path.join(importDir, 'docs'), { recursive: true })
  await writeFile(path.join(importDir, 'docs', 'é.md'), '# A\n\nThe lamp burns.\n')
  await writeFile(path.join(importDir, 'docs', 'rows.jsonl'), '{"id": "1", "text": "a row"}\nno row\n')
  await writeFile(path.join(importDir, 'docs', 'broken.parquet'), 'PAR1')
  await writeFile(path.join(importDir, 'broken.jsonl'), 'no row\n')
  const key = await addKey(keysDir, { name: 'ann', role: 'user' })
  const server = await startServer(
    tinyShared(dir, {
      CEPE_ADMIN_KEY: ADMIN_KEY,
      CEPE_KEYS_DIR: keysDir,
      CEPE_IMPORT_DIR: importDir,
      CEPE_LOG_LEVEL: 'trace',
      CEPE_TRACES_URL: 'http://user:hunter2-traces@127.0.0.1:9/v1/traces?token=hunter2-token',
      OTEL_BSP_SCHEDULE_DELAY: '200',
    }),
  )
  t.teardown(() => server.stop('SIGKILL'))
  const bodies: string[] = []
  const send = async (method: string, url: string, body?: object, authorization = `Bearer ${ADMIN_KEY}`) => {
    const response = await fetch(server.url + url, {
      method,
      headers: { authorization, ...(body && !(body instanceof FormData) && { 'content-type': 'application/json' }) },
      ...(body && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    bodies.push(text)
    return { status: response.status, text }
  }
  const order = async (source: string): Promise<Job> => {
    const made = await send('POST', '/v1/admin/index-jobs', { source, max_rejected_share: 0.6 })
    for (;;) {
      const { text } = await send('GET', `/v1/admin/index-jobs/${(JSON.parse(made.text) as Job).id}`)
      const job = JSON.parse(text) as Job
      if (['done', 'failed', 'stopped', 'cancelled'].includes(job.state)) return job
      await sleep(100)
    }
  }
  const routes = ['/', '/v1/models', '/v1/answer', '/v1/none', '/none', '/v1/passages/x', '/healthz', '/docs', `/v1/passages/${key}`]
  for (const url of routes)
    for (const query of ['?key=hunter2-query', '?a=1&api_key=hunter2-query#x', '?hunter2-query', '?access_token=hunter2%2Dquery'])
      await send('GET', url + query, undefined, `Bearer ${key}`)
  for (const authorization of [`bearer   ${key}`, 'Bearer hunter2-wrong', 'Basic hunter2-basic'])
    await send('GET', '/v1/models', undefined, authorization)
  const form = new FormData()
  form.append('file', new Blob(['# A\n\nThe bell rings.\n']), 'a.md')
  t.equal((await send('POST', '/v1/admin/index-jobs?label=notes', form)).status, 202)

  const docs = await order('docs')
  t.match(docs, { state: 'done', source: { path: '$CEPE_IMPORT_DIR/docs' } })
  t.match(await order('broken.jsonl'), { state: 'failed', source: { path: '$CEPE_IMPORT_DIR/broken.jsonl' } })
  await send('GET', '/v1/admin/index-jobs')
  const report = await send('GET', `/v1/admin/index-jobs/${docs.id}/report`)
  t.equal(
    report.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object).length,
    2,
  )
  await writeFile(path.join(indexDir, 'jobs', docs.id, 'job.json'), '{"version": 99}')
  t.equal((await send('GET', `/v1/admin/index-jobs/${docs.id}`)).status, 409)
  for (const name of await readdir(indexDir))
    if (name.startsWith('passages.') && name.endsWith('.json')) await writeFile(path.join(indexDir, name), 'damaged')
  await sleep(1500)
  const broken = [
    await send('GET', '/v1/passages/1'),
    await send('PUT', '/v1/passages', { passages: [{ id: 'x', title: '', text: 'x' }] }),
    await send('POST', '/v1/admin/index/reembed'),
    await send('GET', '/readyz'),
  ]
  t.ok(
    broken.some(({ status, text }) => status === 503 && text.includes('index_invalid')),
    broken.map(({ text }) => text).join('\n'),
  )
  await sleep(500)
  await server.stop()
  const [said, log] = [bodies.join('\n'), server.stdout() + server.stderr()]
  t.notMatch(said, new RegExp(dir), 'no path of the machine')
  t.notMatch(said, /hunter2/)
  t.notMatch(log, /hunter2(?!-of-a-test)/, /.{0,200}hunter2.{0,80}/.exec(log)?.[0] ?? 'nothing')
  t.notMatch(log, ADMIN_KEY)
  t.notOk(log.includes(key), 'no key')
  t.match(log, /"url":"\/v1\/models\?\(query\)"/, 'the path stays')
})

t.test('a setting with credentials is refused without them', (t) => {
  for (const [name, value] of [
    ['CEPE_TRACES_URL', 'ftp://user:hunter2@collector/x?token=hunter2'],
    ['CEPE_CORS_ORIGINS', 'https://user:hunter2@app.example.org'],
    ['CEPE_FETCH', 'user:hunter2@docs.example.org/?key=hunter2'],
    ['CEPE_ADMIN_KEY', 'hunter2'],
  ] as const) {
    t.throws(() => loadConfig({}, { [name]: value }), { code: 'config_invalid', field: name })
    try {
      loadConfig({}, { [name]: value })
    } catch (error) {
      t.notMatch(String(error), /hunter2/, name)
    }
  }
  t.end()
})

t.test('paths are left out of what clients read, and names of files are not', (t) => {
  const shown = publicText(loadConfig({}, { CEPE_INDEX_DIR: '/srv/index', CEPE_IMPORT_DIR: '/srv/import' }))
  for (const [text, expected] of [
    ['There is no table "passages" in /srv/index yet', 'There is no table "passages" in $CEPE_INDEX_DIR yet'],
    ['/srv/index/passages is damaged', '$CEPE_INDEX_DIR/passages is damaged'],
    ["ENOENT: no such file, open '/var/lib/x.md'", "ENOENT: no such file, open '<path>'"],
    ['see file:///opt/app/dist/x.js', 'see <path>'],
    ['é/x/y.md and docs/a/b.md stay', 'é/x/y.md and docs/a/b.md stay'],
    ['GET /v1/admin/index-jobs and https://host/a/b stay', 'GET /v1/admin/index-jobs and https://host/a/b stay'],
  ] as const)
    t.equal(shown(text), expected)
  t.equal(shown('There is no GET /srv/other/x of /srv/import/x', true), 'There is no GET /srv/other/x of $CEPE_IMPORT_DIR/x')
  t.end()
})
