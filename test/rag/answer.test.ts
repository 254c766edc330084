import t from 'tap'
import { answerQuestion, confidence } from '../../src/rag/answer.ts'
import { recordingServices } from '../helpers/recording-services.ts'

t.test('cepe: the first k_decoder passages stand in the prompt, the others go to the encoder', async (t) => {
  const { services, asked } = recordingServices()
  const response = await answerQuestion({ question: 'what' }, services)
  t.equal(response.answer, 'yes')
  t.equal(response.finish_reason, 'stop')
  t.same(response.evidence.map((e) => e.role), ['decoder', 'decoder', 'encoder', 'encoder', 'encoder', 'encoder'])
  t.same(response.evidence.map((e) => e.attention), [null, null, 0.25, 0.25, 0.25, 0.25])
  t.same(asked.generate[0]?.contexts, [2, 3, 4, 5].map((i) => `Document (Title: T${i}): text ${i}`))
  t.equal(response.usage.context_tokens, 28)
  t.match(response.index, { table: 'passages', version: 3 })
})

t.test('encoder_passages all: the encoder reads every passage', async (t) => {
  const { services, asked } = recordingServices()
  const response = await answerQuestion({ question: 'what', encoder_passages: 'all' }, services)
  t.equal(asked.generate[0]?.contexts.length, 6)
  t.same(response.evidence.map((e) => e.role), ['both', 'both', 'encoder', 'encoder', 'encoder', 'encoder'])
})

t.test('a decoder passage that does not fit the window moves to the encoder', async (t) => {
  const { services, asked } = recordingServices({ window: 28 })
  const response = await answerQuestion({ question: 'what', k_decoder: 6 }, services)
  const inDecoder = response.evidence.filter((e) => e.role === 'decoder').length
  t.ok(inDecoder > 0 && inDecoder < 6)
  t.equal(asked.generate[0]?.contexts.length, 6 - inDecoder)
})

t.test('decoder-only: nothing is encoded, what does not fit is unused', async (t) => {
  const { services, asked } = recordingServices({ window: 28 })
  const response = await answerQuestion({ question: 'what', mode: 'decoder-only' }, services)
  t.same(asked.generate[0]?.contexts, [])
  t.same(new Set(response.evidence.map((e) => e.role)), new Set(['decoder', 'unused']))
})

t.test('closed-book: nothing is retrieved, demonstrations lose their passages', async (t) => {
  const { services, asked } = recordingServices()
  const response = await answerQuestion({ question: 'what', mode: 'closed-book', demonstrations: 1, include_prompts: true }, services)
  t.same(asked.k, [])
  t.same(response.evidence, [])
  t.equal(response.index, null)
  t.same(response.prompts, ['Question: dq\nAnswer: da\n\nQuestion: what\nAnswer:'])
})

t.test('replug: one prompt per passage with its score', async (t) => {
  const { services, asked } = recordingServices()
  await answerQuestion({ question: 'what', mode: 'replug', k: 3 }, services)
  t.same(asked.replug[0]?.prompts.map((p) => p.score), [10, 9, 8])
})

t.test('k 0 answers without passages; supplied passages are not retrieved', async (t) => {
  const { services, asked } = recordingServices()
  t.same((await answerQuestion({ question: 'what', k: 0 }, services)).evidence, [])
  const supplied = await answerQuestion({ question: 'what', passages: [{ title: 'X', text: 'y' }] }, services)
  t.match(supplied.evidence, [{ id: '1', title: 'X', score: null }])
  t.same(asked.k, [])
})

t.test('confidence is the geometric mean of the token probabilities', (t) => {
  t.ok(Math.abs(confidence([Math.log(0.5), Math.log(0.125)]) - 0.25) < 1e-12)
  t.equal(confidence([]), 0)
  t.end()
})

t.test('an empty answer has no confidence, however sure the reader is that it has none', async (t) => {
  const { services } = recordingServices()
  const stopsAtOnce = async (...args: Parameters<typeof services.reader.generate>) => ({ ...(await services.reader.generate(...args)), tokenIds: [1], logprobs: [Math.log(0.97)] })
  const response = await answerQuestion({ question: 'what' }, { ...services, reader: { ...services.reader, generate: stopsAtOnce } })
  t.match(response, { answer: '', confidence: 0, finish_reason: 'stop' })
})

t.test('what cannot be served is refused by name', async (t) => {
  const { services } = recordingServices()
  await t.rejects(answerQuestion({ question: 'q', demonstrations: 2 }, services), /demonstrations is 2, but the service has 1/)
  await t.rejects(answerQuestion({ question: 'q', context_tokens: 300 }, services), /context_tokens is 300, but this model's encoder takes 256/)
  await t.rejects(answerQuestion({ question: 'q', mode: 'replug', sampling: { temperature: 1, top_p: 1, seed: 1 } }, services), /sampling is not available in replug mode/)
})
