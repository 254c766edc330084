import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { testApp } from './helpers.ts'

/** At a kill in the midst of an answer of some tens of milliseconds. */
const ATTEMPTS = 20

const modelDir = await builtFixture(t, 'cepe-tiny-gqa')

await t.test('the process of the reader is killed while it answers', async (t) => {
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const { app } = await testApp(t, { answering: { ...recordingServices().services, reader } })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const passages = Array.from({ length: 6 }, (_, i) => ({ title: `w${i + 3}`, text: `w${i + 4} w${i + 9} w7`, score: 6 - i }))
  const body = { question: 'w5 w9 w11', passages, demonstrations: 0, context_tokens: 16, max_new_tokens: 100 }
  const sampled = { ...body, sampling: { temperature: 0.9, top_p: 0.95, seed: 7 } }
  const ask = (asked: object) =>
    fetch(`${address}/v1/answer`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asked) })
  /** The process that answers, from the moment that it has the question. */
  const answering = async (): Promise<number> => {
    for (;;) {
      const [child] = reader.status().children
      if (child?.state === 'busy' && child.pid !== null) return child.pid
      await sleep(1)
    }
  }

  await t.test('once: the caller notices nothing', async (t) => {
    const before = (await (await ask(body)).json()) as object
    // Stopped, it cannot have answered before it is killed.
    process.kill(reader.status().children[0]?.pid ?? 0, 'SIGSTOP')
    const asked = ask(body)
    process.kill(await answering(), 'SIGKILL')
    const answered = await asked
    t.equal(answered.status, 200)
    t.same({ ...((await answered.json()) as object), timings_ms: 0 }, { ...before, timings_ms: 0 })
    t.equal(reader.status().restarts, 1)
  })

  /** An answer whose processes are killed as they have it, two of them; on a busy machine it may be there before. */
  const killedTwice = async (): Promise<Response> => {
    let isAnswered = false
    const asked = ask(sampled).finally(() => (isAnswered = true))
    let killed = 0
    for (let kills = 0; kills < 2 && !isAnswered;) {
      const [child] = reader.status().children
      if (child?.state === 'busy' && child.pid !== null && child.pid !== killed) {
        process.kill(child.pid, 'SIGKILL')
        killed = child.pid
        kills++
      }
      await sleep(1)
    }
    return asked
  }

  await t.test('twice: the caller is told to send the question again', async (t) => {
    let refused = await killedTwice()
    for (let tries = 1; tries < ATTEMPTS && refused.status === 200; tries++) refused = await killedTwice()
    t.equal(refused.status, 503)
    t.ok(Number(refused.headers.get('retry-after')) >= 1)
    t.match(await refused.json(), { error: { code: 'not_ready' } })
    t.equal((await ask(body)).status, 200, 'the next question is answered')
  })

  /** What a stream holds whose process is killed after its first token. */
  const killedInStream = async (): Promise<string> => {
    const text = (await ask({ ...sampled, stream: true })).body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    for (let next = await text?.read(); next?.value !== undefined; next = await text?.read()) {
      const isFirst = !seen.includes('event: token')
      seen += next.value
      if (isFirst && seen.includes('event: token')) process.kill(reader.status().children[0]?.pid ?? 0, 'SIGKILL')
    }
    return seen
  }

  await t.test('after a part was streamed: the stream ends with the error', async (t) => {
    let seen = await killedInStream()
    for (let tries = 1; tries < ATTEMPTS && seen.includes('event: answer'); tries++) seen = await killedInStream()
    t.match(seen, /event: error\ndata: .*"not_ready"/)
    t.notMatch(seen, /event: answer/)
  })
})
