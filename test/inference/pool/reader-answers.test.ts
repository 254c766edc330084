import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { builtFixture, goldenOf } from '../../fixtures/built-fixture.ts'
import { largestDifference, question, requestOf } from './golden-requests.ts'

const QUESTION = question('w5 w9 w11', { maxNewTokens: 4, includePrompts: true })

await t.test('a reader that plans, reads and answers', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir, replugBytes: 2 ** 22 })
  t.teardown(() => reader.close({ drainMs: 0 }))

  await t.test('every mode says where each passage was read', async (t) => {
    const cepe = await reader.answer(QUESTION)
    t.same(cepe.contextOf, [-1, -1, 0, 1, 2, 3, 4, 5])
    t.same(cepe.inDecoder, [true, true, false, false, false, false, false, false])
    t.equal(cepe.contextShares.length, 6)
    t.match(cepe.prompts[0], /^Document \(Title: w3\): w4 w9 w7\n\n.*Question: w5 w9 w11\nAnswer:$/s)
    t.ok(cepe.promptTokens > 0 && cepe.timingsMs.plan >= 0)
    t.same((await reader.answer({ ...QUESTION, includePrompts: false })).prompts, [])
    t.equal((await reader.answer({ ...QUESTION, mode: 'replug' })).prompts.length, 8)
    t.same((await reader.answer({ ...QUESTION, mode: 'closed-book' })).prompts, ['Question: w5 w9 w11\nAnswer:'])
    t.ok((await reader.answer({ ...QUESTION, mode: 'decoder-only' })).inDecoder.every(Boolean))
  })

  await t.test('choices: log-probabilities as scored alone, and what the encoder read', async (t) => {
    const asked = { ...QUESTION, mode: 'cepe' as const }
    const read = await reader.choices({ ...asked, choices: ['w3 w4', 'w5', 'w6 w7 w8'] })
    t.same(read.logprobs.length, 3)
    t.ok(read.logprobs.flat().every((logprob) => logprob < 0))
    t.same(read.contextTokenCounts.length, 6)
    t.ok(read.contextTokenCounts.every((count) => count > 0))
    const turned = await reader.choices({ ...asked, choices: ['w6 w7 w8', 'w3 w4'] })
    t.ok(largestDifference(turned.logprobs[0] ?? [], read.logprobs[2] ?? []) < 1e-5)
    await t.rejects(reader.choices({ ...asked, choices: ['w3 '.repeat(400)] }), { code: 'unprocessable', field: 'choices' })
  })

  await t.test('RePlug in small batches mixes as in one', async (t) => {
    const { promptIds, stopIds } = requestOf(await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors'))
    const prompts = Array.from({ length: 7 }, (_, i) => ({ ids: promptIds.slice(0, promptIds.length - (i % 3)), score: (i * 5) % 7 }))
    const request = { prompts, temperature: 0.5, stopIds, maxNewTokens: 6 }
    const batched = await createReader({ modelDir, replugBytes: 1 })
    t.teardown(() => batched.close({ drainMs: 0 }))
    const [one, other] = [await reader.replug(request), await batched.replug(request)]
    t.same(other.tokenIds, one.tokenIds)
    t.ok(largestDifference(other.logprobs, one.logprobs) < 1e-5)
    const sharp = await reader.replug({ ...request, temperature: 1e-30 })
    t.ok(sharp.logprobs.every((logprob) => Number.isFinite(logprob) && logprob <= 0))
    t.notSame(
      sharp.logprobs,
      sharp.logprobs.map(() => 0),
      'the best passage decides, and its probabilities stay',
    )
    await t.rejects(batched.answer({ ...QUESTION, mode: 'replug' }), { code: 'unprocessable', message: /CEPE_REPLUG_MB/ })
  })

  await t.test('who leaves ends a run between its steps; the process stays', async (t) => {
    const before = reader.status().children[0]?.pid
    const caller = new AbortController()
    // Few enough to be read at all: a run that is refused would end by itself.
    const many = Array.from({ length: 200 }, () => ({ title: 'w3', text: 'w4 w5 w6', score: 1 }))
    const long = t.rejects(reader.answer({ ...QUESTION, mode: 'replug', passages: many }, { signal: caller.signal }), {
      code: 'client_closed',
    })
    await reader.answer(QUESTION)
    caller.abort()
    await long
    while (reader.status().busy > 0) await delay(5)
    t.match(reader.status(), { restarts: 0, children: [{ pid: before }] })
  })
})
