import t from 'tap'
import type { AnswerRead } from '../../../src/inference/contract.ts'
import { confidence } from '../../../src/inference/confidence.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { passageWeights } from '../../../src/inference/worker/tasks/answer-parts.ts'
import { builtFixture } from '../../fixtures/built-fixture.ts'
import { question } from './golden-requests.ts'

const weights = (...scores: (number | null)[]): number[] => passageWeights(scores.map((score) => ({ score })))

await t.test('weights of passages: 1 for the first, never rising', (t) => {
  t.same(weights(2, 1, 0.5), [1, 0.25, 0.0625])
  t.same(weights(1, 0, -3), [1, 0, 0], 'a score that is not positive')
  t.same(weights(null, null), [1, 1], 'supplied passages without scores')
  t.same(weights(1, null, 0.5, 2), [1, 1, 0.25, 0.25], 'reranked passages keep their order')
  t.same(weights(-1, -2), [1, 1], 'scores that have no ratio')
  t.same(weights(), [])
  t.end()
})

await t.test('passages are read one at a time, and the answer worth most is given', async (t) => {
  const reader = await createReader({ modelDir: await builtFixture(t, 'cepe-tiny-gqa') })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const asked = (more: Partial<AnswerRead>) => question('w5 w9 w11', { maxNewTokens: 4, kDecoder: 4, includePrompts: true, ...more })
  const { passages } = asked({})
  const scored = (scores: readonly number[]) =>
    passages.slice(0, scores.length).map((passage, i) => ({ ...passage, score: scores[i] ?? 0 }))
  const alone = await Promise.all(
    passages.slice(0, 4).map((passage) => reader.answer(asked({ mode: 'decoder-only', passages: [passage] }))),
  )
  const sure = alone.map(({ text, logprobs }) => (text === '' ? 0 : confidence(logprobs)))

  const all = await reader.answer(asked({ mode: 'map-rerank', passages: scored([1, 1, 1, 1]) }))
  const surest = alone[sure.indexOf(Math.max(...sure))]
  t.match(all, { text: surest?.text, logprobs: surest?.logprobs, inDecoder: [true, true, true, true], contextOf: [-1, -1, -1, -1] })
  t.same(
    all.prompts,
    alone.flatMap(({ prompts }) => prompts),
  )
  t.equal(
    all.promptTokens,
    alone.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
  )

  const [first] = alone
  t.ok(first && first.text !== '')
  const one = await reader.answer(asked({ mode: 'map-rerank', passages: scored([1, 0, 0, 0]), attendedSentences: true }))
  t.match(one, { text: first?.text, inDecoder: [true, false, false, false], attended: [null, null, null, null] })
  t.equal(one.prompts.length, 1, 'passages that cannot win are not read')

  const none = await reader.answer(asked({ mode: 'map-rerank', passages: [] }))
  t.same(none.prompts, (await reader.answer(asked({ mode: 'decoder-only', passages: [] }))).prompts)
})

await t.test('passages behind the first k_decoder are read through the encoder, one at a time', async (t) => {
  const reader = await createReader({ modelDir: await builtFixture(t, 'cepe-tiny-gqa') })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const asked = (more: Partial<AnswerRead>) => question('w5 w9 w11', { maxNewTokens: 4, includePrompts: true, ...more })
  const passages = asked({})
    .passages.slice(0, 4)
    .map((passage) => ({ ...passage, score: 1 }))
  const alone = await Promise.all(
    passages.map((passage, i) => reader.answer(asked({ mode: 'cepe', passages: [passage], kDecoder: i === 0 ? 1 : 0 }))),
  )
  const worth = alone.map(({ text, logprobs }) => (text === '' ? 0 : confidence(logprobs)))
  const best = worth.indexOf(Math.max(...worth))
  const all = await reader.answer(asked({ mode: 'map-rerank', passages, kDecoder: 1, attendedSentences: true }))
  t.match(all, { text: alone[best]?.text, logprobs: alone[best]?.logprobs })
  t.same(all.inDecoder, [true, false, false, false])
  t.same(all.contextOf, [-1, 0, 1, 2])
  t.same(
    all.contextTokenCounts,
    alone.flatMap(({ contextTokenCounts }) => contextTokenCounts),
  )
  t.same(
    all.contexts,
    alone.flatMap(({ contexts }) => contexts),
  )
  t.same(all.contextShares, best === 0 ? [] : [1, 2, 3].map((i) => (i === best ? 1 : 0)), 'of the chosen answer')

  const encoded = await reader.answer(asked({ mode: 'map-rerank', passages: passages.slice(1), kDecoder: 0, attendedSentences: true }))
  const chosen = worth.slice(1).indexOf(Math.max(...worth.slice(1)))
  t.same(
    encoded.contextShares,
    [0, 1, 2].map((i) => (i === chosen ? 1 : 0)),
  )
  t.same(
    encoded.attended?.map((sentence) => sentence !== null),
    [0, 1, 2].map((i) => i === chosen),
  )
})

await t.test('parts nearest to the question are read too: the surest answer is given, as sure as all readings are of it', async (t) => {
  const reader = await createReader({ modelDir: await builtFixture(t, 'cepe-tiny-gqa') })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const asked = (more: Partial<AnswerRead>) => question('w5 w9 w11', { maxNewTokens: 4, includePrompts: true, ...more })
  const passage = { title: 'w1', text: 'w2 w3 w4.\nw5 w9 w7.\nw8 w6 w2.\nw12 w13 w14.', score: 1 }
  const texts = [passage.text, 'w5 w9 w7.', 'w2 w3 w4.\nw5 w9 w7.\nw8 w6 w2.']
  for (const kDecoder of [1, 0]) {
    const alone = await Promise.all(
      texts.map((text) => reader.answer(asked({ mode: 'cepe', kDecoder, passages: [{ ...passage, text }], attendedSentences: true }))),
    )
    const sure = alone.map(({ text, logprobs }) => (text === '' ? 0 : confidence(logprobs)))
    const best = sure.indexOf(Math.max(...sure))
    const chosen = alone[best]
    const agreeing = sure.reduce((sum, one, i) => sum + (alone[i]?.text === chosen?.text ? one : 0), 0) / texts.length
    const all = await reader.answer(asked({ mode: 'map-rerank', kDecoder, passages: [passage], focus: true, attendedSentences: true }))
    t.match(all, { text: chosen?.text, logprobs: chosen?.logprobs })
    t.ok(Math.abs(confidence(all.logprobs, all.agreement) - agreeing) < 1e-9, `${kDecoder}: mean over the readings`)
    t.same(
      all.prompts,
      alone.flatMap(({ prompts }) => prompts),
    )
    t.same([all.inDecoder, all.contextOf], kDecoder === 1 ? [[true], [-1]] : [[false], [0]])
    t.same(
      all.contextTokenCounts,
      alone.flatMap(({ contextTokenCounts }) => contextTokenCounts),
      'of the whole passage, then of its parts',
    )
    t.same(all.attended?.[0] ?? null, best === 0 ? (chosen?.attended?.[0] ?? null) : null, 'a part has no sentence of the passage')
    const [whole] = alone
    const none = asked({ mode: 'map-rerank', kDecoder, passages: [passage], focus: true, stop: whole ? [whole.text.slice(0, 1)] : [] })
    t.match(await reader.answer(none), { text: '', prompts: whole?.prompts }, 'parts of a passage without an answer are not read')
  }
})

await t.test('an answer from a part in a prompt attended to no passage', async (t) => {
  const reader = await createReader({ modelDir: await builtFixture(t, 'cepe-tiny-gqa') })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const asked = (more: Partial<AnswerRead>) => question('w5 w9 w11', { maxNewTokens: 4, includePrompts: true, ...more })
  const first = { title: 'w1', text: 'w2 w3', score: 1 }
  for (const [i, isPart] of [true, false].entries()) {
    const sentences = [`w${2 + i} w3 w4.`, `w5 w9 w${7 + i}.`, `w8 w6 w${2 + i}.`, 'w12 w13 w14.']
    const second = { title: 'w1', text: sentences.join('\n'), score: 1 }
    const all = await reader.answer(asked({ mode: 'map-rerank', kDecoder: 1, passages: [first, second], focus: true }))
    const read = [
      { passages: [first], kDecoder: 1 },
      { passages: [second], kDecoder: 0 },
      { passages: [{ ...second, text: sentences[1] ?? '' }], kDecoder: 1 },
      { passages: [{ ...second, text: sentences.slice(0, 3).join('\n') }], kDecoder: 1 },
    ]
    const alone = await Promise.all(read.map((one) => reader.answer(asked({ mode: 'cepe', ...one }))))
    const sure = alone.map(({ text, logprobs }) => (text === '' ? 0 : confidence(logprobs)))
    t.equal(sure.indexOf(Math.max(...sure)), isPart ? 3 : 1)
    t.same([all.contextOf, all.contextShares], [[-1, 0], isPart ? [] : [1]])
    t.same(
      all.contexts,
      alone.flatMap(({ contexts }) => contexts),
    )
  }
})

await t.test('experts: the surest passage says each token; those that cannot are not read', async (t) => {
  const reader = await createReader({ modelDir: await builtFixture(t, 'cepe-tiny-gqa') })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const asked = (more: Partial<AnswerRead>) => question('w5 w9 w11', { maxNewTokens: 4, kDecoder: 4, includePrompts: true, ...more })
  const [passage] = asked({}).passages
  t.ok(passage)
  if (passage === undefined) return
  const alone = await reader.answer(asked({ mode: 'decoder-only', passages: [passage] }))
  const one = await reader.answer(asked({ mode: 'experts', passages: [passage] }))
  t.match(one, { text: alone.text, inDecoder: [true], promptTokens: alone.promptTokens, prompts: alone.prompts })
  t.ok(one.logprobs.every((logprob, i) => Math.abs(logprob - (alone.logprobs[i] ?? NaN)) < 1e-4))
  const more = await reader.answer(asked({ mode: 'experts', passages: [passage, { ...passage, text: 'w3', score: 0 }] }))
  t.match(more, { text: alone.text, inDecoder: [true, false], promptTokens: alone.promptTokens })
  const sent: string[] = []
  await reader.answer(asked({ mode: 'experts', passages: [passage] }), { onText: (text) => sent.push(text) })
  t.equal(sent.join('').trim(), alone.text)
  t.ok((await reader.answer(asked({ mode: 'experts', passages: [] }))).prompts.length === 1)
})
