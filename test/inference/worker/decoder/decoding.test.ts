import t from 'tap'
import { tokenBudgetBatches } from '../../../../src/inference/batches.ts'
import { mulberry32 } from '../../../../base/random.ts'
import { argmax, logSoftmax, logSumExp, mixLogprobs, sampleToken } from '../../../../src/inference/worker/decoder/sampling.ts'
import { checkNumber } from '../../../../src/inference/worker/runtime/session.ts'
import { attendedSentences } from '../../../../src/inference/worker/tasks/answer-parts.ts'
import { measuredAttention } from '../../../../src/inference/worker/decoder/attention.ts'
import { wordTokenizer } from '../../../fixtures/word-tokenizer.ts'
import { createStateCache, stateKey } from '../../../../src/inference/worker/encoder/state-cache.ts'

await t.test('batches hold every item once, within the budget, like lengths together', (t) => {
  const random = mulberry32(7)
  for (const budget of [1, 50, 300, 2048]) {
    const lengths = Array.from({ length: 100 }, () => 1 + Math.floor(random() * 256))
    const batches = tokenBudgetBatches(lengths, budget)
    t.same(
      batches.flat().sort((a, b) => a - b),
      lengths.map((_, i) => i),
    )
    for (const batch of batches) {
      const longest = Math.max(...batch.map((i) => lengths[i] ?? 0))
      t.ok(batch.length === 1 || longest * batch.length <= budget)
    }
    const padded = batches.reduce((sum, batch) => sum + Math.max(...batch.map((i) => lengths[i] ?? 0)) * batch.length, 0)
    if (budget === 300) t.ok(padded < 1.1 * lengths.reduce((a, b) => a + b, 0), 'little padding')
  }
  t.same(tokenBudgetBatches([], 10), [])
  t.same(tokenBudgetBatches([0, 0], 10), [[0, 1]])
  t.end()
})

await t.test('log-softmax and log-sum-exp hold for large and for impossible logits', (t) => {
  const row = logSoftmax(Float32Array.of(1000, 1000, -1000))
  t.ok(Math.abs((row[0] ?? 0) - Math.log(0.5)) < 1e-12)
  t.equal(logSumExp([-Infinity, -Infinity]), -Infinity)
  t.ok(Math.abs(logSumExp([Math.log(0.25), Math.log(0.5)]) - Math.log(0.75)) < 1e-12)
  t.equal(argmax([1, 3, 3, 2]), 1)
  t.end()
})

await t.test('sampling follows the distribution, temperature, top-p and top-k', (t) => {
  const logprobs = Float64Array.of(0.5, 0.3, 0.15, 0.05).map(Math.log)
  const random = mulberry32(42)
  const shares = (temperature: number, topP: number, topK?: number): number[] => {
    const counts = [0, 0, 0, 0]
    for (let i = 0; i < 20_000; i++) {
      const id = sampleToken(logprobs, { temperature, topP, ...(topK !== undefined && { topK }) }, random)
      counts[id] = (counts[id] ?? 0) + 1
    }
    return counts.map((count) => count / 20_000)
  }
  const near = (actual: number[], expected: number[]): void =>
    actual.forEach((share, i) => t.ok(Math.abs(share - (expected[i] ?? NaN)) < 0.02, `${share} near ${expected[i]}`))
  near(shares(1, 1), [0.5, 0.3, 0.15, 0.05])
  near(
    shares(0.5, 1),
    [0.25, 0.09, 0.0225, 0.0025].map((square) => square / 0.365),
  )
  near(shares(1, 0.75), [0.625, 0.375, 0, 0])
  near(shares(1, 0.5), [1, 0, 0, 0])
  near(shares(1, 1, 1), [1, 0, 0, 0])
  near(shares(1, 1, 2), [0.625, 0.375, 0, 0])
  near(shares(1, 0.6, 2), [1, 0, 0, 0])
  near(shares(1, 1, 9), [0.5, 0.3, 0.15, 0.05])
  t.end()
})

await t.test('seeded numbers repeat, and are spread over [0, 1)', (t) => {
  const draw = (seed: number): number[] => {
    const random = mulberry32(seed)
    return Array.from({ length: 1000 }, random)
  }
  t.same(draw(5), draw(5))
  t.notSame(draw(5), draw(6))
  const numbers = draw(1)
  t.ok(numbers.every((x) => x >= 0 && x < 1))
  t.ok(Math.abs(numbers.reduce((a, b) => a + b, 0) / 1000 - 0.5) < 0.05)
  t.end()
})

await t.test('RePlug mixes probabilities with softmax of the scores', (t) => {
  const rows = [Float64Array.of(0.9, 0.1), Float64Array.of(0.2, 0.8)].map((row) => row.map(Math.log))
  const mixed = mixLogprobs(rows, [Math.log(3), Math.log(1)], 1)
  t.ok(Math.abs(Math.exp(mixed[0] ?? 0) - (0.75 * 0.9 + 0.25 * 0.2)) < 1e-12)
  const cold = mixLogprobs(rows, [2, 1], 1e-3)
  t.ok(Math.abs(Math.exp(cold[0] ?? 0) - 0.9) < 1e-12, 'far scores are no overflow')
  t.end()
})

await t.test('no temperature is too low, and no score too large, for the weights of passages', (t) => {
  const rows = [Float64Array.of(0.9, 0.1), Float64Array.of(0.2, 0.8)].map((row) => row.map(Math.log))
  for (const temperature of [1e-3, 1e-30, 1e-320]) {
    for (const scores of [
      [20, 10],
      [1e6, 1e5],
      [-1, -2],
    ]) {
      const mixed = mixLogprobs(rows, scores, temperature)
      t.ok(Math.abs(Math.exp(mixed[0] ?? NaN) - 0.9) < 1e-12, `${scores.join()} at ${temperature}`)
    }
    const equal = mixLogprobs(rows, [1e6, 1e6], temperature)
    t.ok(Math.abs(Math.exp(equal[0] ?? NaN) - 0.55) < 1e-12)
    t.equal(
      sampleToken(Float64Array.of(-1, -0.5, -2), { temperature, topP: 1 }, () => 0.5),
      1,
    )
  }
  t.end()
})

await t.test('a number that is none is an error, not an answer', (t) => {
  t.equal(checkNumber(-3), -3)
  for (const value of [NaN, Infinity, undefined]) t.throws(() => checkNumber(value), { code: 'inference_failed' })
  t.end()
})

await t.test("attention is shared out by the contexts' rows", (t) => {
  const attention = Float32Array.of(0.1, 0.2, 0.3, 0.4, /* next token */ 0.5, 0.1, 0.1, 0.3)
  const shares = measuredAttention(attention, [1, 0, 3]).contextShares
  t.ok(Math.abs((shares[0] ?? 0) - 0.3) < 1e-6)
  t.equal(shares[1], 0)
  t.ok(Math.abs((shares[2] ?? 0) - 0.7) < 1e-6)
  t.same(measuredAttention(new Float32Array(0), []).contextShares, [])
  t.same(measuredAttention(new Float32Array(4), [1, 1]).contextShares, [0, 0])
  t.end()
})

await t.test('the state cache is bounded by bytes and forgets the least recently used', (t) => {
  const states = () => new Float32Array(256)
  const cache = createStateCache(3 * (1024 + 256))
  for (const key of ['a', 'b', 'c']) cache.set(key, states())
  t.ok(cache.get('a'))
  cache.set('d', states())
  t.notOk(cache.get('b'))
  t.ok(cache.get('a') && cache.get('c') && cache.get('d'))
  cache.set('huge', new Float32Array(10_000))
  t.notOk(cache.get('huge'))
  t.ok(cache.counts().bytes <= 3 * (1024 + 256))
  const none = createStateCache(0)
  none.set('a', states())
  t.notOk(none.get('a'))
  t.end()
})

await t.test('a state key is of the text, its length limit and the model', (t) => {
  const keys = [
    stateKey('text', 256, 'm1'),
    stateKey('text', 255, 'm1'),
    stateKey('text', 256, 'm2'),
    stateKey('texts', 256, 'm1'),
    stateKey('6\ntext', 25, 'm1'),
  ]
  t.equal(new Set(keys).size, keys.length)
  t.equal(stateKey('text', 256, 'm1'), keys[0])
  t.end()
})

await t.test('how attention lies on single context tokens', (t) => {
  // Two tokens over contexts of one and three rows: the first looks at one row alone, the second at all alike.
  const attention = Float32Array.of(0, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25)
  const { contextShares: shares, attentionFocus: focus, tokenShares } = measuredAttention(attention, [1, 3], true)
  t.same(shares, [0.25 / 1.5, 1.25 / 1.5])
  t.same(focus, [
    { peak: 1, entropy: 0 },
    { peak: 0.25, entropy: 1 },
  ])
  t.same(
    [...(tokenShares ?? [])],
    [0.25, 0.75, 0.25, 0.25].map((mass) => mass / 1.5),
  )
  t.same(measuredAttention(new Float32Array(0), [], true).attentionFocus, [])
  t.equal(measuredAttention(attention, [1, 3]).tokenShares, undefined)
  t.same(measuredAttention(new Float32Array(2), [2], true).attentionFocus, [{ peak: 0, entropy: 1 }], 'no attention at all')
  t.end()
})

await t.test('the sentence with most attention, in passages that were cut too', async (t) => {
  const tokenizer = wordTokenizer()
  const text = 'One two. Three four five.  Six seven.'
  const passages = [
    { title: 'T', text },
    { title: 'T', text },
    { title: 'T', text },
  ]
  // "Document (Title: T):" is three words; the first context was read whole (10 words), the second cut within the second sentence.
  const first = [0.9, 0, 0, 0.1, 0.1, 0, 0.3, 0, 0, 0.2]
  const second = [0, 0, 0, 0.1, 0.2, 0.1, 0.1]
  const tokenShares = Float64Array.from([...first, ...second])
  const decoded = { contextShares: [0.8, 0.2], contextTokenCounts: [10, 7], tokenShares }
  const parts = { read: { passages }, plan: { contextOf: [0, 1, -1] }, tokenizer }
  const paused: number[] = []
  const pause = () => Promise.resolve(void paused.push(1))
  const [a, b, c] = await attendedSentences({ ...parts, decoded }, pause)
  t.match(a, { start: 9, end: 25 })
  t.ok(Math.abs((a?.share ?? 0) - 0.3 / 1.6) < 1e-12)
  t.match(b, { start: 0, end: 8 })
  t.equal(c, null)
  t.equal(paused.length, 2, 'others come in between passages')
  const unmeasured = { contextShares: [], contextTokenCounts: [10, 7] }
  t.same(await attendedSentences({ ...parts, decoded: unmeasured }, pause), [null, null, null])
  const many = Array.from({ length: 30 }, () => ({ title: 'T', text: 'One.' }))
  const shares = many.map((_, i) => (i + 1) / 465)
  const all = { contextShares: shares, contextTokenCounts: many.map(() => 4), tokenShares: new Float64Array(120).fill(1) }
  const found = await attendedSentences(
    { read: { passages: many }, plan: { contextOf: many.map((_, i) => i) }, decoded: all, tokenizer },
    pause,
  )
  t.equal(found.filter((sentence) => sentence !== null).length, 20)
})
