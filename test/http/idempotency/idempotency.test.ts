import fastify from 'fastify'
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { onceIn } from '../../../src/http/idempotency/idempotency.ts'

/** A process whose POST does work once. @returns posts with a key */
function served(t: Test, options: Parameters<typeof onceIn>[0], work: () => Promise<object>) {
  const once = onceIn(options)
  const app = fastify()
  t.teardown(() => app.close())
  app.post('/', (request, reply) =>
    once(request, reply, { collection: 'passages', work }).catch((error: unknown) =>
      reply
        .code(error instanceof CodedError ? 400 : 500)
        .send(error instanceof CodedError ? { code: error.code, message: error.message } : {}),
    ),
  )
  return async (key: string) => {
    const response = await app.inject({ method: 'POST', url: '/', headers: { 'idempotency-key': key } })
    return { status: response.statusCode, json: response.json<object>(), replayed: response.headers['idempotency-replayed'] === 'true' }
  }
}

const stored = async (dir: string): Promise<number> => (await readdir(dir)).filter((name) => name.endsWith('.json')).length

t.test('what was done is answered, also where the answer cannot be kept', async (t) => {
  const dir = join(t.testdir(), 'answers')
  const failing = (result: () => Promise<object>) => async () => {
    await rm(dir, { recursive: true })
    await writeFile(dir, 'not a folder')
    return result()
  }
  t.match(
    await served(
      t,
      { folder: () => dir },
      failing(() => Promise.resolve({ done: 1 })),
    )('k'),
    { status: 200, json: { done: 1 } },
  )
  await rm(dir)
  const none = failing(() => Promise.reject(new CodedError('not_found', 'There is none.')))
  t.match(await served(t, { folder: () => dir }, none)('k'), { status: 400, json: { code: 'not_found', message: 'There is none.' } })
})

t.test('two requests with one key at a time: one works, the other is told to wait', async (t) => {
  const dir = join(t.testdir(), 'answers')
  const works: PromiseWithResolvers<object>[] = []
  const begun: (() => void)[] = []
  const work = (): Promise<object> => {
    const one = pending()
    works.push(one)
    begun.shift()?.()
    return one.promise
  }
  const post = served(t, { folder: () => dir }, work)
  const other = served(t, { folder: () => dir }, () => Promise.resolve({ by: 'another process' }))
  const isBegun = new Promise<void>((resolve) => begun.push(resolve))
  const first = post('k')
  await isBegun
  t.match(await other('k'), { status: 400, json: { code: 'conflict' } })
  t.match(await other('another key'), { status: 200, replayed: false })
  works[0]?.reject(new Error('it failed'))
  t.match(await first, { status: 500 })
  t.match(
    await other('k'),
    { status: 200, json: { by: 'another process' }, replayed: false },
    'one that ended without an answer has left none',
  )
  t.match(await post('k'), { status: 200, json: { by: 'another process' }, replayed: true })
})

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>
  readonly reject: (error: Error) => void
}

function pending(): PromiseWithResolvers<object> {
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<object>((_, rejected) => (reject = rejected))
  return { promise, reject }
}

t.test('a damaged response is no licence to do the work again', async (t) => {
  const dir = join(t.testdir(), 'answers')
  let works = 0
  const work = () => Promise.resolve({ works: ++works })
  const post = served(t, { folder: () => dir }, work)
  await post('k')
  const [file = ''] = (await readdir(dir)).filter((name) => name.endsWith('.json'))
  const whole = await readFile(join(dir, file), 'utf8')
  const altered = [whole.replace('"works":1', '"works":3'), whole.replace('"found":true', '"found":false')]
  const elsewhere = JSON.stringify(sealed({ ...(parseSealed(whole) as object), collection: 'rivers' }))
  for (const text of ['', '{"request": "x", "fou', '{}', 'null', '[]', elsewhere, ...altered]) {
    t.not(text, whole)
    await writeFile(join(dir, file), text)
    t.match(await post('k'), { status: 400, json: { code: 'conflict', message: new RegExp(`damaged \\(${file}\\)`) } }, text)
  }
  await rm(join(dir, file))
  await mkdir(join(dir, file))
  t.match(await post('k'), { status: 400, json: { code: 'store_unavailable', message: new RegExp(file) } })
  t.equal(works, 1)
  await rm(join(dir, file), { recursive: true })
  await writeFile(join(dir, file), '')
  const dayAgo = new Date(Date.now() - 86_500_000)
  await utimes(join(dir, file), dayAgo, dayAgo)
  t.match(await post('k'), { status: 200, json: { works: 2 } }, 'it has expired')
})

t.test('kept answers are bounded in time and number', async (t) => {
  const dir = join(t.testdir(), 'answers')
  const work = () => Promise.resolve({ done: true })
  const bounded = served(t, { folder: () => dir, most: 5 }, work)
  for (let i = 0; i < 101; i++) await bounded(`k${i}`)
  t.equal(await stored(dir), 5)
  t.match(await bounded('k100'), { replayed: true })
  const late = served(t, { folder: () => dir, keepMs: 0 }, work)
  t.match(await late('k100'), { status: 200, replayed: false })
  t.ok((await stored(dir)) <= 1)
})
