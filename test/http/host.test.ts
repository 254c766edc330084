import t, { type Test } from 'tap'
import { addKey } from '../../src/keys/store.ts'
import { openKeys } from '../../src/keys/keys.ts'
import type { Services } from '../../src/service/services.ts'
import { parseRaw, rawConnection, testApp } from './helpers.ts'

/** Asks a listening service under a name of its own choice, which `fetch` does not let one do. */
async function asker(t: Test, changes: Partial<Services> = {}, settings: Record<string, unknown> = {}) {
  const { app } = await testApp(t, changes, settings)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return async (host: string, { url = '/v1/info', more = '' } = {}) => {
    const connection = await rawConnection(t, address)
    connection.socket.write(`GET ${url} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`)
    await connection.closed
    return parseRaw(connection.received())
  }
}

t.test('a service without keys answers on loopback under its own names alone', async (t) => {
  const ask = await asker(t)
  for (const name of ['localhost', '127.0.0.1', '[::1]', 'LocalHost', 'localhost:9000', '127.0.0.1:1', '[::1]:8080'])
    t.equal((await ask(name)).status, 200, name)
  for (const name of ['rebound.example', 'localhost.rebound.example:8080', '[::2]', '10.0.0.1', 'localhost:80@rebound.example', ''])
    t.match(await ask(name), { status: 421, error: { code: 'misdirected_request', field: 'Host', message: /CEPE_ALLOWED_HOSTS/ } }, name)
  for (const url of ['/', '/docs/json', '/metrics', '/nothing', '/v1/passages/p1'])
    t.equal((await ask('rebound.example', { url })).status, 421, url)
  for (const url of ['/healthz', '/readyz']) t.equal((await ask('rebound.example', { url })).status, 200, 'probes are asked by address')
})

t.test('further names are those of the setting, on any address', async (t) => {
  for (const HOST of ['127.0.0.1', '0.0.0.0']) {
    const ask = await asker(t, {}, { HOST, ALLOWED_HOSTS: 'cepe, Qa.example.org' })
    for (const name of ['cepe:8080', 'qa.example.org', 'localhost']) t.equal((await ask(name)).status, 200, name)
    t.equal((await ask('rebound.example')).status, 421)
  }
  const open = await asker(t, {}, { HOST: '0.0.0.0' })
  t.equal((await open('any.example')).status, 200, 'an address that others reach has names that are not known here')
})

t.test('where a key is needed, or came with the request, the name does not matter', async (t) => {
  const dir = t.testdir()
  await addKey(dir, { name: 'root', role: 'admin' })
  const key = await addKey(dir, { name: 'ann', role: 'user' })
  const keys = await openKeys({ dir })
  t.teardown(() => keys.close())
  const withUsers = await asker(t, { keys })
  t.equal((await withUsers('app.example')).status, 401)
  t.equal((await withUsers('app.example', { more: `Authorization: Bearer ${key}\r\n` })).status, 200)
  const withAdmin = await asker(t, {}, { ADMIN_KEY: 'correct horse battery' })
  const more = 'Authorization: Bearer correct horse battery\r\n'
  t.equal((await withAdmin('app.example', { url: '/v1/admin/index-jobs', more })).status, 200)
  t.equal((await withAdmin('app.example', { url: '/v1/admin/index-jobs' })).status, 421)
})
