import { readdir } from 'node:fs/promises'
import t from 'tap'
import { buildApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { packageRoot } from '../../../src/package.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { servicesAround } from '../../helpers/services.ts'

t.test('request ids come in and go out; browsers are told not to guess', async (t) => {
  const services = await servicesAround(t, recordingServices().services)
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent' }, {}), '0.0.0-test')
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const get = (path: string, id?: string) => fetch(url + path, id === undefined ? {} : { headers: { 'x-request-id': id } })
  for (const path of ['/healthz', '/nothing', '/v1/models/none']) {
    const response = await get(path, 'trace-1.a:b_c')
    t.equal(response.headers.get('x-request-id'), 'trace-1.a:b_c', path)
    t.equal(response.headers.get('x-content-type-options'), 'nosniff')
    t.equal(response.headers.get('x-frame-options'), 'DENY')
  }
  t.match(await (await get('/nothing', 'mine')).json(), { error: { request_id: 'mine' } }, 'the body names the same id')
  for (const bad of ['x'.repeat(129), 'a b', '<script>', 'ü'])
    t.match(
      (await get('/healthz', encodeURIComponent(bad) === bad ? bad : Buffer.from(bad).toString('latin1'))).headers.get('x-request-id'),
      /^[0-9a-f-]{36}$/,
    )
  t.not((await get('/healthz')).headers.get('x-request-id'), (await get('/healthz')).headers.get('x-request-id'))
})

t.test('the page and what it loads are served; nothing else of its folder, or around it, is', async (t) => {
  const services = await servicesAround(t, recordingServices().services)
  const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent' }, {}), '0.0.0-test')
  t.teardown(() => app.close())
  const page = await app.inject('/')
  t.equal(page.statusCode, 200)
  t.match(page.headers, { 'content-type': /^text\/html/, 'content-security-policy': /default-src 'none'/ })
  const files = (await readdir(`${packageRoot()}/src/http/page`)).filter((name) => /\.(?:js|css)$/.test(name))
  t.ok(files.includes('page.js'))
  for (const file of files) t.equal((await app.inject(`/${file}`)).statusCode, 200, file)
  for (const url of ['/index.html', '/corpus-text.ts', '/../package.json', '/%2e%2e/package.json', '/page.js/../../page.ts', '/page'])
    t.equal((await app.inject(url)).statusCode, 404, url)
  t.match((await app.inject('/v1/info')).json(), {
    version: '0.0.0-test',
    reader: { id: /^fake@/, window: 1000, defaults: { k: 6 } },
    retriever: { id: /^fake@/, dimension: 2, method: 'dense' },
    index: { table: 'passages', passages: 6 },
    corpus: { title: 'Ask your documents', about: '6 passages.', questions: [] },
    limits: { k: 200, question_characters: 4096 },
  })
})

t.test('PORT is honoured where CEPE_PORT is not set', (t) => {
  t.equal(loadConfig({}, { PORT: '3000' }).PORT, 3000)
  t.equal(loadConfig({}, { PORT: '3000', CEPE_PORT: '4000' }).PORT, 4000)
  t.equal(loadConfig({ PORT: '5000' }, { PORT: '3000' }).PORT, 5000)
  t.equal(loadConfig({}, {}).PORT, 8080)
  t.throws(() => loadConfig({}, { PORT: 'x' }), { code: 'config_invalid', field: 'PORT' })
  t.end()
})
