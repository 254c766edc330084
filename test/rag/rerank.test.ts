import t from 'tap'
import { answerQuestion } from '../../src/rag/answer.ts'
import { rerank } from '../../src/rag/rerank.ts'
import { search } from '../../src/rag/search.ts'
import { factServices } from '../helpers/fact-services.ts'

/** The right passage is found fourth; the reader's likelihoods know it. */
const late = () => factServices({ offset: 3 })

t.test('search finds more than it keeps, and keeps the likeliest', async (t) => {
  const { services } = late()
  const plain = await search({ query: 'what is fact 7', k: 2 }, services)
  t.same(
    plain.passages.map(({ id }) => id),
    ['p4', 'p5'],
  )
  const { passages } = await search({ query: 'what is fact 7', k: 2, rerank: true }, services)
  t.match(passages, [{ id: 'p7', rank: 1, score: 7 }, { rank: 2 }])
  t.equal(passages.length, 2)
})

t.test('an answer is read from the likeliest passages', async (t) => {
  const { services } = late()
  const question = { question: 'what is fact 7', k: 2 }
  t.equal((await answerQuestion(question, services)).answer, 'unknown')
  const { answer, evidence } = await answerQuestion({ ...question, rerank: true }, services)
  t.equal(answer, 'a7')
  t.match(evidence, [{ id: 'p7', rank: 1 }, { rank: 2 }])
  t.equal(evidence.length, 2)
  const supplied = Array.from({ length: 4 }, (_, i) => ({ title: `Fact ${i + 4}`, text: `fact ${i + 4} is a${i + 4} indeed` }))
  const own = await answerQuestion({ ...question, k: 1, passages: supplied, rerank: true }, services)
  t.match(own.evidence[0]?.title, 'Fact 7', 'of those supplied, all are looked at')
})

t.test('nothing to order is no work', async (t) => {
  const { services } = late()
  t.same(await rerank({ query: 'q', passages: [] }, services), { ranked: [], promptTokens: 0 })
})
