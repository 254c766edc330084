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

t.test('letters written in two parts are those written in one, in every query', async (t) => {
  const { services } = late()
  const seen: string[] = []
  const { reader, retriever } = services
  const { embedder } = retriever
  const watched = {
    ...services,
    retriever: {
      ...retriever,
      embedder: { ...embedder, embed: (...given: Parameters<typeof embedder.embed>) => (seen.push(...given[0]), embedder.embed(...given)) },
    },
    reader: {
      ...reader,
      likelihoods: (...given: Parameters<typeof reader.likelihoods>) => (seen.push(given[0].question), reader.likelihoods(...given)),
    },
  }
  const query = ' what is fact 7, Cafe\u0301 '
  await search({ query, k: 1, method: 'dense', rerank: true }, watched)
  await answerQuestion({ question: query, k: 1, method: 'dense', rerank: true }, watched)
  t.same(seen, Array(4).fill('what is fact 7, Caf\u00e9'))
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
