import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createReader } from '../../src/inference/pool/create-reader.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { testApp } from './helpers.ts'

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
  const answering = async (other = 0): Promise<number> => {
    for (;;) {
      const [child] = reader.status().children
      if (child?.state === 'busy' && child.pid !== null && child.pid !== other) return child.pid
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

  await t.test('twice: the caller is told to send the question again', async (t) => {
    const asked = ask(sampled)
    const first = await answering()
    process.kill(first, 'SIGKILL')
    process.kill(await answering(first), 'SIGKILL')
    const refused = await asked
    t.equal(refused.status, 503)
    t.ok(Number(refused.headers.get('retry-after')) >= 1)
    t.match(await refused.json(), { error: { code: 'not_ready' } })
    t.equal((await ask(body)).status, 200, 'the next question is answered')
  })

  await t.test('after a part was streamed: the stream ends with the error', async (t) => {
    const text = (await ask({ ...sampled, stream: true })).body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    for (let next = await text?.read(); next?.value !== undefined; next = await text?.read()) {
      if (!seen.includes('event: token')) {
        seen += next.value
        if (seen.includes('event: token')) process.kill(reader.status().children[0]?.pid ?? 0, 'SIGKILL')
      } else seen += next.value
    }
    t.match(seen, /event: error\ndata: .*"not_ready"/)
    t.notMatch(seen, /event: answer/)
  })
})
