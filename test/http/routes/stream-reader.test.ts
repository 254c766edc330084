import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { builtFixture } from '../../fixtures/built-fixture.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { testApp } from '../helpers.ts'

const sampling = { temperature: 0.9, top_p: 0.95, seed: 7 }

// In a folder of its own: the application's test makes another.
const modelDir = await builtFixture(t, 'cepe-tiny-gqa')

await t.test('over HTTP, with a reader in its own process', async (t) => {
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const { app } = await testApp(t, { answering: { ...recordingServices().services, reader } })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = (body: object, init: RequestInit = {}) =>
    fetch(`${address}/v1/answer`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), ...init })
  const passages = Array.from({ length: 6 }, (_, i) => ({ title: `w${i + 3}`, text: `w${i + 4} w${i + 9} w7`, score: 6 - i }))

  await t.test('what comes in events is what comes at once', async (t) => {
    for (const manner of [
      {},
      { k_decoder: 0 },
      { mode: 'decoder-only' },
      { mode: 'map-rerank' },
      { mode: 'closed-book', passages: [] },
      { mode: 'replug' },
      { sampling },
    ]) {
      for (const question of ['w5 w9 w11', 'w20 w3']) {
        const body = { question, passages, demonstrations: 0, context_tokens: 16, max_new_tokens: 8, ...manner }
        const whole = (await (await ask(body)).json()) as { readonly answer: string }
        const text = await (await ask({ ...body, stream: true })).text()
        const data = (event: string) =>
          [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].flatMap(([, name, json = '']) =>
            name === event ? [JSON.parse(json) as object] : [],
          )
        t.equal(
          data('token')
            .map((token) => (token as { text: string }).text)
            .join(''),
          whole.answer,
          JSON.stringify(manner),
        )
        t.same({ ...data('answer')[0], timings_ms: 0 }, { ...whole, timings_ms: 0 }, JSON.stringify(manner))
      }
    }
  })

  await t.test('closing the connection frees the reader', async (t) => {
    const body = { question: 'w5', passages, demonstrations: 0, context_tokens: 16, max_new_tokens: 100, stream: true }
    /** Leaves after the first token, and says whether the run was ended before it had come to its end. */
    const leaves = async (manner: object): Promise<boolean> => {
      const leaving = new AbortController()
      const { finished } = reader.status()
      const taken = (await ask({ ...body, ...manner }, { signal: leaving.signal })).body?.pipeThrough(new TextDecoderStream()).getReader()
      let seen = ''
      while (!seen.includes('event: token')) {
        const next = await taken?.read()
        if (next?.value === undefined) throw new Error(`no token came: ${seen}`)
        seen += next.value
      }
      leaving.abort()
      while (reader.status().busy > 0) await sleep(5)
      return reader.status().finished === finished
    }
    for (const manner of [{}, { sampling }]) {
      // This reader writes 100 tokens in milliseconds: on a busy machine it can be faster than the news that its client left.
      let ended = false
      for (let tries = 0; !ended && tries < 20; tries++) ended = await leaves(manner)
      t.ok(ended, 'a run did not come to its end')
      t.equal((await ask({ question: 'w5', passages, demonstrations: 0, context_tokens: 16 })).status, 200)
    }
  })
})
