import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startServer } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const KEY = 'an admin key of a test'
const JOBS = '/v1/admin/index-jobs'
const DOCUMENTS = '/v1/documents/answer'
const IDLE_MS = 500
/** Far more than the time allowed, and far less than one in which a socket's own limits act. */
const PATIENCE_MS = 8_000

const FORM = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.md"\r\n\r\n# A town\n\nIts mayor'
const ZIP = 'PK\u0003\u0004 the first bytes of an archive'

/** The begun bodies of every route that reads one, by content type. */
const BEGUN: readonly (readonly [url: string, type: string, begun: string])[] = [
  [DOCUMENTS, 'multipart/form-data; boundary=b', FORM],
  [DOCUMENTS, 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-da'],
  [DOCUMENTS, 'multipart/form-data; boundary=b', ''],
  [DOCUMENTS, 'application/json', '{"question": "wh'],
  [JOBS, 'multipart/form-data; boundary=b', FORM],
  [JOBS, 'multipart/form-data; boundary=b', FORM.replace('a.md', 'a.jsonl')],
  [JOBS, 'multipart/form-data; boundary=b', FORM.replace('a.md', 'a.zip')],
  [JOBS, 'multipart/form-data; boundary=b', '--b\r\n'],
  [JOBS, 'application/x-ndjson', '{"id": "1", "title": "", "text": "a passage"}\n{"id'],
  [JOBS, 'text/tab-separated-values', 'id\ttext\ttitle\n1\ta pass'],
  [JOBS, 'application/zip', ZIP],
  [JOBS, 'application/x-tar', 'a.md'],
  [JOBS, 'application/gzip', '\u001f\u008b'],
  [JOBS, 'application/octet-stream', ''],
  ['/v1/passages', 'application/json', '{"passages": ['],
  ['/v1/answers', 'application/x-ndjson', '{"question": "q"}\n{"qu'],
  ['/mcp', 'application/json', '{"jsonrpc": "2.0"'],
]

t.test('uploads that stall, trickle or leave give back their places, descriptors, folders and leases', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-stalled-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const server = await startServer(
    tinyShared(dir, { CEPE_ADMIN_KEY: KEY, CEPE_UPLOAD_IDLE_MS: String(IDLE_MS), CEPE_REQUEST_TIMEOUT_MS: String(IDLE_MS) }),
  )
  t.teardown(() => server.stop('SIGKILL'))
  const port = Number(new URL(server.url).port)

  const begin = (url: string, type: string, begun: string, { from = '127.0.0.1', idempotencyKey = '' } = {}) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from })
    let received = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk))
    socket.on('error', () => undefined)
    const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
    const key = idempotencyKey === '' ? '' : `idempotency-key: ${idempotencyKey}\r\n`
    const head = `POST ${url} HTTP/1.1\r\nHost: localhost\r\n${DOCUMENTS === url ? '' : `authorization: Bearer ${KEY}\r\n`}${key}content-type: ${type}\r\ncontent-length: 100000\r\n\r\n`
    socket.write(head + begun, 'latin1')
    return { socket, closed }
  }
  const ask = () =>
    fetch(server.url + DOCUMENTS, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"question": "who is the mayor", "text": "The mayor is Ann.", "max_new_tokens": 1}',
    })
  const descriptors = async () => (await readdir(`/proc/${server.pid}/fd`).catch(() => [])).length
  const folders = async () => (await readdir(path.join(dir, 'index', 'jobs')).catch(() => [])).filter((name) => /^\d{8}T/.test(name))
  /** Waits until nothing of the uploads is left. */
  const settled = async (before: number, what: string) => {
    const until = performance.now() + PATIENCE_MS
    while (performance.now() < until && ((await descriptors()) > before || (await folders()).length > 0)) await sleep(50)
    t.same(await folders(), [], `${what}: no folder is left`)
    t.ok((await descriptors()) <= before, `${what}: ${await descriptors()} descriptors are open, ${before} were before`)
    t.equal((await ask()).status, 200, `${what}: a document is answered`)
  }
  const open = (await ask(), await ask(), await descriptors())

  const stalled = BEGUN.map(([url, type, begun]) => begin(url, type, begun))
  const answers = await Promise.all(stalled.map(({ closed }) => closed))
  for (const [i, answer] of answers.entries())
    t.match(answer, /^HTTP\/1\.1 408 .*request_timeout/s, `${BEGUN[i]?.slice(0, 2).join(' ')} stalled`)
  await settled(open, 'stalled')

  const trickling = BEGUN.map(([url, type, begun]) => begin(url, type, begun))
  const timer = setInterval(() => trickling.forEach(({ socket }) => socket.writable && socket.write(' ')), 50)
  t.teardown(() => clearInterval(timer))
  const ended = await Promise.race([Promise.all(trickling.map(({ closed }) => closed)), sleep(PATIENCE_MS, undefined, { ref: false })])
  clearInterval(timer)
  t.ok(ended !== undefined, 'a byte now and then keeps no upload open')
  for (const { socket } of trickling) socket.destroy()
  await settled(open, 'trickled')

  for (const afterMs of [0, 1, 3, 10, 30, 100]) {
    const left: Socket[] = []
    for (const [i, [url, type, begun]] of BEGUN.entries()) {
      const { socket } = begin(url, type, begun, { idempotencyKey: `left-${afterMs}-${i}` })
      left.push(socket)
    }
    await sleep(afterMs + 20)
    left.forEach((socket, i) => (i % 2 === 0 ? socket.destroy() : socket.end()))
  }
  await settled(open, 'left')
  const again = await fetch(server.url + JOBS, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'idempotency-key': 'left-0-4' },
    body: '{"source": "none"}',
  })
  t.equal(again.status, 403, 'an idempotency key of an upload that was cut off is free again: there is no import folder')

  const own = Array.from({ length: 16 }, () => begin(DOCUMENTS, 'multipart/form-data; boundary=b', FORM))
  await Promise.all(own.map(({ closed }) => closed))
  await settled(open, '16 forms of one address')
  const many = Array.from({ length: 48 }, (_, i) =>
    begin(DOCUMENTS, 'multipart/form-data; boundary=b', FORM, { from: `127.0.0.${2 + (i % 12)}` }),
  )
  await Promise.all(many.map(({ closed }) => closed))
  await settled(open, '48 forms of twelve addresses')
  t.equal(await server.stop(), 0)
})
