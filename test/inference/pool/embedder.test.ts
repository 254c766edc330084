import path from 'node:path'
import t from 'tap'
import { present } from '../../../base/at.ts'
import { InferenceSession, Tensor } from '../../../models/runtime.ts'
import { defaultBatchTokens } from '../../../src/inference/batches.ts'
import { createEmbedder } from '../../../src/inference/pool/models/create-embedder.ts'
import { builtFixture, fixtureDir, goldenOf, wordsOf } from '../../fixtures/built-fixture.ts'

/** Vectors of single rows of ids by the built graph itself, without padding. */
async function embedRows(modelDir: string, rows: readonly (readonly number[])[]): Promise<number[][]> {
  const session = await InferenceSession.create(path.join(modelDir, 'contriever.onnx'))
  const vectors: number[][] = []
  for (const ids of rows) {
    const dims = [1, ids.length]
    const { embedding } = await session.run({
      input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), dims),
      attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), dims),
    })
    vectors.push([...(present(embedding).data as Float32Array)])
  }
  await session.release()
  return vectors
}

function largestDifference(a: readonly Float32Array[], b: readonly (readonly number[])[]): number {
  return a.length === b.length
    ? Math.max(...a.flatMap((vector, i) => Array.from(vector, (value, j) => Math.abs(value - (b[i]?.[j] ?? NaN)))))
    : NaN
}

await t.test('vectors of texts, in order, whatever the batches', async (t) => {
  const fixture = 'contriever-tiny'
  const modelDir = await builtFixture(t, fixture)
  const embedder = await createEmbedder({ modelDir, batchTokens: 40 })
  t.teardown(() => embedder.close({ drainMs: 0 }))
  const { vocab_size, window, hidden_size } = embedder.manifest.dims
  t.ok(fixtureDir(fixture))
  const golden = await goldenOf(fixture, 'golden-embedding.safetensors')
  const {
    data,
    shape: [, length = 0],
  } = golden.ints('input_ids')
  const ids = Array.from(data, Number).map((id) => id % (vocab_size - 2))
  const rows = Array.from({ length: 12 }, (_, i) => ids.slice(i * 3, i * 3 + 1 + ((i * 7) % length)))
  const long = Array.from({ length: 3 * window }, (_, i) => i % (vocab_size - 2))
  const texts = [...rows.map(wordsOf), '', wordsOf(long)]
  const [cls, sep] = [vocab_size - 2, vocab_size - 1]
  const expected = await embedRows(modelDir, [
    ...rows.map((row) => [cls, ...row, sep]),
    [cls, sep],
    [cls, ...long.slice(0, window - 2), sep],
  ])

  const question = await embedder.embed(texts, { priority: 'question' })
  t.ok(largestDifference(question, expected) < 1e-5)
  t.ok(question.every((vector) => vector.length === hidden_size))
  t.ok(largestDifference(await embedder.embed(texts, { priority: 'bulk' }), expected) < 1e-5)
  t.same(await embedder.embed([], { priority: 'bulk' }), [])

  await t.test('a question comes in between the batches of bulk work', async (t) => {
    const finished: string[] = []
    const bulk = embedder
      .embed(Array.from({ length: 60 }, () => texts).flat(), { priority: 'bulk' })
      .then((vectors) => finished.push(`bulk ${vectors.length}`))
    const asked = embedder.embed(['w1'], { priority: 'question' }).then((vectors) => finished.push(`question ${vectors.length}`))
    await Promise.all([bulk, asked])
    t.same(finished, ['question 1', `bulk ${60 * texts.length}`])
  })

  await t.test('bulk work ends with its deadline or its caller', async (t) => {
    const many = Array.from({ length: 200 }, () => texts).flat()
    await t.rejects(embedder.embed(many, { priority: 'bulk', deadlineMs: 1 }), { code: 'deadline_exceeded' })
    const caller = new AbortController()
    const abandoned = t.rejects(embedder.embed(many, { priority: 'bulk', signal: caller.signal }), { code: 'client_closed' })
    caller.abort()
    await abandoned
    t.ok(largestDifference(await embedder.embed(texts, { priority: 'bulk' }), expected) < 1e-5)
  })

  await t.test('bulk calls beyond the bound are refused at once', async (t) => {
    const calls = await Promise.allSettled(Array.from({ length: 70 }, () => embedder.embed(['w1'], { priority: 'bulk' })))
    const refused = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason as unknown] : []))
    t.equal(refused.length, 70 - 65)
    t.match(refused[0], { code: 'overloaded', retryAfterS: Number })
  })
})

await t.test('a text has the same vector, bit for bit, alone and among others, however fast earlier ones were', async (t) => {
  const embedder = await createEmbedder({ modelDir: await builtFixture(t, 'contriever-tiny') })
  t.teardown(() => embedder.close({ drainMs: 0 }))
  const words = (from: number, count: number) => wordsOf(Array.from({ length: count }, (_, i) => 3 + ((from * 7 + i * 5) % 40)))
  const texts = Array.from({ length: 90 }, (_, i) => words(i, 3 + (i % 11)))
  const bits = (vectors: readonly Float32Array[]) => vectors.map((vector) => Buffer.from(vector.slice().buffer).toString('hex'))
  const first = bits(await embedder.embed(texts, { priority: 'bulk' }))
  for (let i = 0; i < 20; i++) await embedder.embed(texts.slice(0, 9), { priority: 'bulk' })
  t.same(bits(await embedder.embed(texts, { priority: 'bulk' })), first, 'in bulk, again')
  t.same(bits(await embedder.embed(texts.slice(0, 1), { priority: 'question' })), first.slice(0, 1), 'alone')
  t.same(bits(await embedder.embed(texts.slice(0, 7).reverse(), { priority: 'question' })).reverse(), first.slice(0, 7), 'among a few')
})

await t.test('batches are smaller for larger models, and larger on a GPU', (t) => {
  t.equal(defaultBatchTokens(110e6, 'cpu'), 545)
  t.equal(defaultBatchTokens(7e9, 'cpu'), 512)
  t.equal(defaultBatchTokens(1e6, 'cpu'), 16_384)
  t.equal(defaultBatchTokens(110e6, 'cuda'), 16_384)
  t.end()
})
