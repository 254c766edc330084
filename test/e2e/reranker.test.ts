import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { buildModel } from '../../models/build.ts'
import { startServer } from '../helpers/cli.ts'
import { root } from '../helpers/root.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

const FIXTURE = path.join(root, 'test/fixtures/rerankers/bert')
const QUERY = 'what is the capital of the country?'
const TEXTS = ['a river flows into the sea', 'the capital of the country is in the book .', '']

/** As transformers computes them. */
async function goldenLogits(): Promise<number[]> {
  const golden = JSON.parse(await readFile(path.join(FIXTURE, 'golden.json'), 'utf8')) as { passages: string[]; logits: number[] }
  return TEXTS.map((text) => golden.logits[golden.passages.indexOf(text)] ?? NaN)
}

t.test('a cross-encoder that a setting names orders documents, found passages and those that answers are read from', async (t) => {
  const dir = await tempDir(t)
  const modelDir = path.join(dir, 'cross-encoder')
  await buildModel({ checkpointDir: FIXTURE, outDir: modelDir, dtype: 'f32' })
  const corpus = path.join(dir, 'corpus.tsv')
  const texts = ['the capital of the country is in the book .', 'a river flows into the sea', 'the book is about the river', 'the sea']
  await writeFile(corpus, ['id\ttext\ttitle', ...texts.map((text, i) => `${i}\t${text}\t`)].join('\n'))
  const server = await startServer(tinyService(dir, { CEPE_RERANKER_DIR: modelDir, CEPE_CORPUS: corpus }))
  t.teardown(() => server.stop())
  const post = async (where: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${where}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const logits = await goldenLogits()
  const order = logits.map((_, index) => index).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0))
  const near = (found: number, wanted: number) => Math.abs(found - wanted) < 1e-3

  const ranked = (await post('/rerank', { query: QUERY, texts: TEXTS, raw_scores: true })).body as { index: number; score: number }[]
  t.same(
    ranked.map(({ index }) => index),
    order,
  )
  t.ok(ranked.every(({ index, score }) => near(score, logits[index] ?? NaN)))
  const { body } = await post('/v1/rerank', { query: QUERY, documents: TEXTS, top_n: 2 })
  const { model, results } = body as { model: string; results: { index: number; relevance_score: number }[] }
  t.match(model, /^bert@/)
  t.equal(results.length, 2)
  t.ok(results.every(({ index, relevance_score: score }) => near(score, 1 / (1 + Math.exp(-(logits[index] ?? NaN))))))
  t.equal((await post('/v1/rerank', { query: QUERY, documents: TEXTS, model: 'bert' })).status, 200)
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] }
  t.ok(
    data.some(({ id }) => id === model),
    'it is listed with the other models',
  )
  t.equal((await post('/v1/rerank', { query: QUERY, documents: TEXTS, model: 'gpt-4' })).status, 404, 'another model does not order them')

  const all = ((await post('/rerank', { query: QUERY, texts })).body as { index: number }[]).map(({ index }) => String(index))
  const found = (await post('/v1/search', { query: QUERY, k: 2, rerank: true })).body as { passages: { id: string; rank: number }[] }
  t.same(
    found.passages.map(({ id, rank }) => [id, rank]),
    all.slice(0, 2).map((id, i) => [id, i + 1]),
    'those that the cross-encoder scores highest of all that are found',
  )
  const answered = (await post('/v1/answer', { question: QUERY, k: 2, rerank: true })).body as { evidence: { id: string }[] }
  t.same(
    answered.evidence.map(({ id }) => id),
    all.slice(0, 2),
  )
  const ready = (await (await fetch(`${server.url}/readyz`)).json()) as { checks?: { name: string }[] }
  t.match(JSON.stringify(ready), /reranker/)
})

t.test('a folder without a cross-encoder is refused by its setting', async (t) => {
  const dir = await tempDir(t)
  await t.rejects(startServer(tinyService(dir, { CEPE_RERANKER_DIR: path.join(dir, 'nothing') })), { message: /CEPE_RERANKER_DIR/ })
})
