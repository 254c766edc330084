import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { startServer } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { until } from '../helpers/until.ts'
import { tempDir } from '../index/helpers.ts'

const KEY = 'an admin key of a test'
const JOBS = '/v1/admin/index-jobs'
/** Larger than what a connection holds: the client still sends when the response is there. */
const LARGE = new Blob([Buffer.alloc(32e6, 'a')])

function form(...parts: readonly (readonly [name: string, content: string | Blob, file?: string])[]): FormData {
  const body = new FormData()
  for (const [name, content, file] of parts) {
    if (file === undefined) body.append(name, content)
    else body.append(name, new Blob([content]), file)
  }
  return body
}

/** Refused before their end. */
const REFUSED: readonly (readonly [what: string, url: string, type: string | undefined, body: () => Blob | FormData, status: number])[] = [
  ['a field before the file', JOBS, undefined, () => form(['label', 'x'], ['file', LARGE, 'a.md']), 400],
  [
    'a field after a table',
    JOBS,
    undefined,
    () => form(['file', 'id\ttext\n1\tx\n', 'a.tsv'], ['label', 'x'], ['file', LARGE, 'a.md']),
    400,
  ],
  ['a damaged gzip stream', JOBS, 'application/gzip', () => new Blob([Buffer.from('1f8b99', 'hex'), LARGE]), 422],
  ['an unknown option', `${JOBS}?none=1`, 'application/x-ndjson', () => LARGE, 400],
  ['an unknown type', JOBS, 'application/pdf', () => LARGE, 415],
  ['a JSON body over the limit', '/v1/answer', 'application/json', () => LARGE, 413],
]

const server = await startServer(tinyShared(await tempDir(t), { CEPE_ADMIN_KEY: KEY }))
t.teardown(() => server.stop('SIGKILL'))

t.test('a client that does not close its end holds no connection after the response', async (t) => {
  // The first test: connections that clients keep open would be counted as well.
  const open = async () => (await readdir(`/proc/${server.pid}/fd`).catch(() => [])).length
  const before = await open()
  const sockets = Array.from({ length: 20 }, () => connect({ port: Number(new URL(server.url).port), allowHalfOpen: true }))
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const received = sockets.map((socket) => text(socket))
  for (const socket of sockets) {
    socket.write('POST /none HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n')
    setTimeout(() => socket.write(Buffer.alloc(100_000, 'a')), 100)
  }
  for (const answer of await Promise.all(received)) t.match(answer, /^HTTP\/1\.1 404 /)
  await until(async () => (await open()) <= before)
})

t.test('a client that is still sending a body that is refused receives the response', async (t) => {
  for (const [what, url, type, body, status] of REFUSED)
    // Not each broken connection loses its response.
    for (let i = 0; i < 4; i++) {
      const headers = { authorization: `Bearer ${KEY}`, ...(type !== undefined && { 'content-type': type }) }
      const response = await fetch(server.url + url, { method: 'POST', headers, body: body() }).catch((error: Error) => error)
      t.match(response, { status }, what)
      if (response instanceof Response) t.match(await response.json(), { error: { code: String } }, what)
    }
})

t.test('a client that asks for it receives the response, then the end of the connection', async (t) => {
  for (const [what, head] of [
    ['asked', 'HTTP/1.1\r\nConnection: close'],
    ['older', 'HTTP/1.0'],
  ] as const) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    const received = text(socket)
    socket.write(`POST /none ${head}\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n`)
    socket.write(Buffer.alloc(2_000_000, 'a'))
    t.match(await received, /^HTTP\/1\.1 404 [^]*"not_found"/, what)
  }
})

/** Refused before the framework has a request, with the body that follows. */
const MALFORMED: readonly (readonly [what: string, head: string, status: number, code: string])[] = [
  ['headers that are too large', `Content-Length: 3000000\r\nX: ${'y'.repeat(20_000)}\r\n`, 431, 'headers_too_large'],
  ['a length that is no number', 'Content-Length: 3M\r\n', 400, 'invalid_request'],
  ['chunks without sizes', 'Transfer-Encoding: chunked\r\n', 400, 'invalid_request'],
  ['an expectation that is not known', 'Content-Length: 3000000\r\nExpect: a-miracle\r\nConnection: close\r\n', 417, 'expectation_failed'],
]

t.test('a client that is still sending a request that cannot be read receives the response, then the end of the connection', async (t) => {
  for (const [what, head, status, code] of MALFORMED)
    for (let i = 0; i < 4; i++) {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      // In pieces, of which each is read after the response.
      for (const piece of [
        `POST /v1/answer HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}\r\n`,
        ...Array<Buffer>(30).fill(Buffer.alloc(100_000, 'z')),
      ])
        socket.write(piece)
      t.match(await text(socket), new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${code}"`), what)
    }
})
