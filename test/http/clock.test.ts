import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Job } from '../../src/jobs/record/schema.ts'
import { addKey } from '../../src/keys/store.ts'
import { startServer } from '../helpers/cli.ts'
import { settableClock } from '../helpers/clock.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

t.test('a clock that is set anew lengthens no limit, forgets no quota and turns no order of jobs around', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-set-clock-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const keysDir = path.join(dir, 'keys')
  const keys = {
    root: await addKey(keysDir, { name: 'root', role: 'admin' }),
    bot: await addKey(keysDir, { name: 'bot', role: 'user', requests_per_minute: 2 }),
    ann: await addKey(keysDir, { name: 'ann', role: 'user', questions_per_day: 1 }),
  }
  const clock = await settableClock(t)
  const start = () => startServer({ ...tinyShared(dir, { CEPE_KEYS_DIR: keysDir, CEPE_RATE_LIMIT: '400' }), ...clock.env })
  let server = await start()
  t.teardown(() => server.stop('SIGKILL'))
  const send = async (key: string, url: string, body?: object, type = 'application/json') => {
    const response = await fetch(server.url + url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': type }) },
      ...(body && { body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body) }),
    })
    return { status: response.status, wait: Number(response.headers.get('retry-after')), body: await response.text() }
  }
  const isRefusedForAMinute = async (key: string, what: string) => {
    for (const ms of [0, -HOUR, HOUR, -DAY, 0]) {
      await clock.set(ms)
      const { status, wait } = await send(key, '/v1/models')
      t.equal(status, 429, `${what} is refused with a clock at ${ms}`)
      t.ok(wait > 0 && wait <= 60, `${what} is refused for ${wait} s with a clock at ${ms}`)
    }
  }
  for (let i = 0; i < 2; i++) t.equal((await send(keys.bot, '/v1/models')).status, 200)
  await isRefusedForAMinute(keys.bot, 'a key over its rate')

  const ask = () => send(keys.ann, '/v1/documents/answer', { question: 'who is the mayor', text: 'The mayor is Ann.', max_new_tokens: 1 })
  const toTomorrow = DAY - (Date.now() % DAY) + HOUR
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 429)
  await clock.set(toTomorrow)
  t.equal((await ask()).status, 200, 'tomorrow is another day')
  t.equal((await ask()).status, 429)
  await clock.set(0)
  t.equal((await ask()).status, 429, 'the day that came back is used up')
  await clock.set(toTomorrow)
  t.equal((await ask()).status, 429)
  t.equal(await server.stop(), 0)
  server = await start()
  t.equal((await ask()).status, 429, 'tomorrow is used up after a restart')
  await clock.set(0)
  t.equal((await ask()).status, 429, 'and today')

  const replace = async (text: string): Promise<Job> => {
    const lines = Buffer.from(`${JSON.stringify({ id: '1', text })}\n`)
    const made = await send(keys.root, '/v1/admin/index-jobs?replace=true', lines, 'application/x-ndjson')
    t.equal(made.status, 202, made.body)
    for (;;) {
      const job = JSON.parse((await send(keys.root, `/v1/admin/index-jobs/${(JSON.parse(made.body) as Job).id}`)).body) as Job
      if (['done', 'failed', 'stopped', 'cancelled'].includes(job.state)) return job
      await sleep(200)
    }
  }
  const ids: string[] = []
  for (const [ms, text] of [
    [0, 'the first'],
    [-HOUR, 'the second, of a clock that was set back'],
    [-DAY, 'the third, of one that was set back further'],
  ] as const) {
    await clock.set(ms)
    const job = await replace(text)
    t.match(job, { state: 'done', error: null })
    ids.push(job.id)
    t.match(JSON.parse((await send(keys.root, '/v1/passages/1')).body), { text })
  }
  t.same(ids, [...ids].sort(), 'later jobs have greater ids')

  await clock.set(0)
  for (let i = 0; i < 30; i++) await send('wrong', '/v1/models')
  await isRefusedForAMinute('wrong', 'a wrong key')
  for (let i = 0; i < 400; i++) await send(keys.root, '/v1/models')
  await isRefusedForAMinute(keys.root, 'an address over its rate')
  t.equal(await server.stop(), 0)
})
