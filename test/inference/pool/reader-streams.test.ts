import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Dtype } from '../../../models/manifest.ts'
import type { AnswerRead, AnswerReadResult } from '../../../src/inference/contract.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { builtFixture } from '../../fixtures/built-fixture.ts'
import { question } from './golden-requests.ts'

const sampling = { temperature: 0.9, topP: 0.95, seed: 7 }
const MANNERS: readonly (readonly [string, Partial<AnswerRead>])[] = [
  ['greedy', {}],
  ['greedy, one token', { maxNewTokens: 1 }],
  ['greedy, everything encoded', { kDecoder: 0 }],
  ['decoder-only', { mode: 'decoder-only' }],
  ['closed-book', { mode: 'closed-book' }],
  ['replug', { mode: 'replug' }],
  ['sampled', { sampling }],
  ['sampled closed-book', { mode: 'closed-book', sampling: { ...sampling, seed: 8 } }],
]

function untimed({ timingsMs, ...answer }: AnswerReadResult) {
  return { ...answer, timings: Object.keys(timingsMs).sort() }
}

for (const dtype of ['f32', 'int8+int4'] satisfies Dtype[]) {
  await t.test(`what is heard as it comes about is the answer, and the answer is the unheard one: ${dtype}`, async (t) => {
    const modelDir = await builtFixture(t, 'cepe-tiny-gqa', dtype)
    const reader = await createReader({ modelDir })
    t.teardown(() => reader.close({ drainMs: 0 }))
    for (const [manner, more] of MANNERS) {
      for (const text of ['w5 w9 w11', 'w3', 'w20 w21 w22 w23']) {
        const pieces: string[] = []
        const read = question(text, more)
        const heard = await reader.answer(read, { onText: (piece) => pieces.push(piece) })
        t.same(untimed(heard), untimed(await reader.answer(read)), `${manner}: ${text}`)
        t.equal(pieces.join(''), heard.text, `${manner}: the pieces of "${heard.text}"`)
        if (read.maxNewTokens > 1) t.ok(pieces.length >= heard.text.split(' ').length, `${manner}: a piece a word`)
      }
    }
  })
}

await t.test('who leaves ends the answer between two tokens, and the reader is free for others', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  for (const more of [{}, { sampling }]) {
    const leaving = new AbortController()
    let heard = 0
    const left = reader.answer(question('w5 w9 w11', { ...more, maxNewTokens: 100 }), {
      signal: leaving.signal,
      onText: () => {
        heard++
        leaving.abort()
      },
    })
    await t.rejects(left, { code: 'client_closed' })
    t.equal(heard, 1, 'nothing is heard after leaving')
    await reader.answer(question('w3'))
    while (reader.status().busy > 0) await delay(5)
  }
  t.equal(reader.status().restarts, 0)
})
