import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { shutDown } from '../../../src/cli/service.ts'
import { heldReader, parseRaw, rawConnection, testApp, type ErrorBody } from '../helpers.ts'

function ask(url: string): Promise<Response> {
  return fetch(`${url}/v1/answer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ question: 'what is it' }),
  })
}

t.test('running requests are answered, new ones are refused, idle connections are closed', async (t) => {
  const { answering, held } = heldReader()
  const { app, services } = await testApp(t, { answering })
  const url = await app.listen({ port: 0 })
  const idle = await rawConnection(t, url)
  idle.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  while (!idle.received().includes('uptime_s')) await setTimeout(5)
  const running = ask(url)
  while (held.length === 0) await setTimeout(5)

  const down = shutDown(app, services, 600_000)
  await idle.closed
  const refused = await ask(url)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('connection'), 'close')
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.match(await refused.json(), { error: { code: 'not_ready', message: /shutting down/, request_id: String } })
  t.equal((await fetch(`${url}/healthz`)).status, 200, 'supervisors still see a live process')

  held[0]?.go()
  const answered = await running
  t.equal(answered.status, 200)
  t.equal(answered.headers.get('connection'), 'close', 'its connection does not keep the server')
  await down
  await t.rejects(fetch(`${url}/healthz`), 'nothing listens any more')
})

t.test('what still runs after the drain is answered 503', async (t) => {
  const { answering, held } = heldReader()
  const close = () => {
    held[0]?.fail(new CodedError('not_ready', 'The service shut down before the request was done.'))
    return Promise.resolve()
  }
  const { app, services } = await testApp(t, { answering, close })
  const url = await app.listen({ port: 0 })
  const running = ask(url)
  while (held.length === 0) await setTimeout(5)
  await shutDown(app, services, 50)
  const response = await running
  t.equal(response.status, 503)
  t.match(((await response.json()) as ErrorBody).error, { code: 'not_ready', message: /shut down before/ })
})

t.test('what goes wrong with the jobs keeps no running request from its answer', async (t) => {
  const { answering, held } = heldReader()
  const { app, services } = await testApp(t, { answering })
  const url = await app.listen({ port: 0 })
  const running = ask(url)
  while (held.length === 0) await setTimeout(5)
  const jobs = { ...services.jobs, close: () => Promise.reject(new Error('the disk is away')) }
  const down = shutDown(app, { ...services, jobs, close: () => services.close() }, 600_000)
  const ended = down.then(
    () => 'well',
    (error: unknown) => String(error),
  )
  t.equal(await Promise.race([ended, setTimeout(50, 'not yet')]), 'not yet')
  held[0]?.go()
  t.equal((await running).status, 200)
  t.match(await ended, /the disk is away/)
})

t.test('neither a body that trickles nor a request that never ends keeps the server open', async (t) => {
  const { app, services } = await testApp(t)
  const url = await app.listen({ port: 0 })
  const slow = await rawConnection(t, url)
  slow.socket.write('POST /v1/answer HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"qu')
  const half = await rawConnection(t, url)
  half.socket.write('GET /heal')
  await setTimeout(50)
  await shutDown(app, services, 600_000)
  await Promise.all([slow.closed, half.closed])
  t.match(parseRaw(slow.received()), { status: 503, error: { code: 'not_ready' } })
})
