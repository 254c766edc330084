import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { bareEnvironment, CLI, serving, type RunningServer, type Settings } from '../helpers/processes.ts'
import { tinyShared } from '../helpers/service-settings.ts'

/** Starts a service that may have so many descriptors. */
async function limited(t: Test, descriptors: number, own: Readonly<Record<string, string>>): Promise<RunningServer> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-connections-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const env: Settings = { ...bareEnvironment(), ...tinyShared(dir, own) }
  const command = `ulimit -n ${descriptors}; exec "$0" "$@"`
  const server = await serving(spawn('bash', ['-c', command, process.execPath, CLI, 'serve', '--port', '0'], { env }))
  t.teardown(() => server.stop('SIGKILL'))
  return server
}

/** Connections of one address that send nothing. */
async function idle(t: Test, { url }: RunningServer, count: number, from: string): Promise<Socket[]> {
  const { hostname, port } = new URL(url)
  const host = hostname.replaceAll(/[[\]]/g, '')
  const sockets = Array.from({ length: count }, () => connect({ host, port: Number(port), localAddress: from }))
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  for (const socket of sockets) socket.on('error', () => undefined)
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

/** Status of a request over a connection of its own; 0 if it was reset. */
async function status(...asked: Parameters<typeof ask>): Promise<number> {
  return (await ask(...asked)).status
}

/** Waits until a request has such a status: connections may be accepted in another order than they were opened in. @returns the last status */
async function settled(wanted: number, ...asked: Parameters<typeof ask>): Promise<number> {
  let last = 0
  for (let i = 0; i < 100 && last !== wanted; i++) last = await status(...asked)
  return last
}

async function text(...asked: Parameters<typeof ask>): Promise<string> {
  return (await ask(...asked)).text
}

function ask({ url }: RunningServer, route: string, from: string, body?: object): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const asked = request(
      url + route,
      { agent: false, localAddress: from, method: body ? 'POST' : 'GET', headers: { 'content-type': 'application/json' } },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('close', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    asked.once('error', () => resolve({ status: 0, text: '' }))
    asked.end(body && JSON.stringify(body))
  })
}

t.test('idle connections of one address keep nobody else out, and those of many no probe', async (t) => {
  const server = await limited(t, 4096, { CEPE_MAX_CONNECTIONS: '40' })
  const one = await idle(t, server, 200, '127.0.0.1')
  t.equal(await settled(503, server, '/v1/models', '127.0.0.1'), 503, 'the address itself is refused')
  for (let i = 0; i < 20; i++) t.equal(await status(server, '/v1/models', '127.0.0.2'), 200, 'another address is served')
  t.equal(await status(server, '/healthz', '127.0.0.1'), 200, 'its probes are answered')
  t.equal(await text(server, '/readyz', '127.0.0.1'), await text(server, '/readyz', '127.0.0.2'))

  const many = (await Promise.all(Array.from({ length: 40 }, (_, i) => idle(t, server, 4, `127.0.1.${i + 1}`)))).flat()
  t.equal(await settled(503, server, '/v1/models', '127.0.0.3'), 503, 'all places are taken')
  for (let i = 0; i < 20; i++) {
    t.equal(await status(server, '/healthz', '127.0.0.3'), 200, 'a probe is answered')
    t.equal(await status(server, '/v1/models', '127.0.0.3'), 503, 'no place is left for questions')
  }
  for (const socket of [...one, ...many]) socket.destroy()
  t.equal(await settled(200, server, '/v1/models', '127.0.0.3'), 200, 'as soon as they have gone, all are served')
  t.equal(await server.stop(), 0)
})

t.test('connections never take the descriptors that the index needs', async (t) => {
  const server = await limited(t, 300, { CEPE_ADMIN_KEY: 'an admin key of a test', CEPE_ALLOW_OPEN: 'true' })
  for (let i = 0; i < 30; i++) await idle(t, server, 20, `127.0.0.${i + 10}`)
  const question = { question: 'who is the mayor', passages: [{ title: '', text: 'The mayor is Ann.' }], max_new_tokens: 1 }
  const statuses = new Set<number>()
  for (let i = 0; i < 20; i++) statuses.add(await status(server, '/v1/answer', `127.0.0.${i + 1}`, question))
  t.same(
    [...statuses].filter((one) => one !== 200 && one !== 503),
    [],
    'no request fails or is reset',
  )
  t.equal(await status(server, '/healthz', '127.0.0.1'), 200)
  t.match(server.stdout(), /At most 150 connections are open at a time, half of the descriptors/)
  t.equal(await server.stop(), 0)
})

/** A machine whose `localhost` has addresses of both families, whatever its hosts file holds. */
const BOTH = `data:text/javascript,${encodeURIComponent(`
  import dns from 'node:dns'
  import { syncBuiltinESMExports } from 'node:module'
  const both = [{ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }]
  const { lookup } = dns
  dns.lookup = (name, ...rest) => {
    if (name !== 'localhost') return lookup(name, ...rest)
    const [options, done] = [rest[0], rest.at(-1)]
    return options.all ? done(null, both) : done(null, '::1', 6)
  }
  dns.promises.lookup = async () => both
  syncBuiltinESMExports()
`)}`

t.test('bounds, errors and shutdown are the same at each address of localhost', async (t) => {
  const own = { CEPE_HOST: 'localhost', CEPE_MAX_CONNECTIONS: '40', NODE_OPTIONS: `--import=${BOTH}` }
  const server = await limited(t, 4096, own)
  for (const address of ['127.0.0.1', '::1']) {
    const here = { ...server, url: `http://${address.includes(':') ? `[${address}]` : address}:${new URL(server.url).port}` }
    t.match(
      await text(here, `/${'y'.repeat(20_000)}`, address),
      /"code":"headers_too_large"/,
      `${address}: an error has the documented body`,
    )
    const sockets = await idle(t, here, 30, address)
    t.equal(await settled(503, here, '/v1/models', address), 503, `${address}: connections are bounded`)
    t.equal(await status(here, '/healthz', address), 200)
    for (const socket of sockets) socket.destroy()
  }
  await idle(t, server, 1, '::1')
  t.equal(await server.stop(), 0)
})
