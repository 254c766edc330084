import path from 'node:path'
import t from 'tap'
import { readFile } from 'node:fs/promises'
import { buildModel } from '../../models/build.ts'
import { DTYPES } from '../../models/dtypes.ts'
import { floatsOf, int64, openModel, output } from '../helpers/open-model.ts'
import { createReranker } from '../../src/inference/pool/models/create-embedder.ts'
import { pairing } from '../../src/inference/worker/tasks/encoder-tasks.ts'
import { root } from '../helpers/root.ts'

/** Random cross-encoders and what transformers makes of pairs with them (test/fixtures/rerankers/make.py). */
const FIXTURES = path.join(root, 'test/fixtures/rerankers')

interface Golden {
  readonly query: string
  readonly passages: readonly string[]
  readonly ids: readonly (readonly number[])[]
  /** Token types of the first pair. */
  readonly types: readonly number[]
  readonly logits: readonly number[]
}

for (const kind of ['bert', 'xlm-roberta']) {
  const checkpointDir = path.join(FIXTURES, kind)
  await t.test(`${kind}: scores in a process of their own are transformers' logits`, async (t) => {
    const golden = JSON.parse(await readFile(path.join(checkpointDir, 'golden.json'), 'utf8')) as Golden
    const modelDir = path.join(t.testdir(), kind)
    await buildModel({ checkpointDir, outDir: modelDir, dtype: 'f32' })
    const reranker = await createReranker({ modelDir })
    t.teardown(() => reranker.close({ drainMs: 0 }))
    const { scores, tokens } = await reranker.rank({ query: golden.query, texts: golden.passages })
    t.equal(
      tokens,
      golden.ids.reduce((sum, ids) => sum + ids.length, 0),
      'special tokens included, cut at the window',
    )
    for (const [i, logit] of golden.logits.entries()) t.ok(Math.abs((scores[i] ?? NaN) - logit) < 1e-4, `${i}: ${scores[i]}, ${logit}`)
    const short = await reranker.rank({ query: golden.query, texts: golden.passages, textTokens: 3 })
    t.ok(short.tokens < tokens, 'fewer tokens of each text where that is wanted')
  })

  await t.test(`${kind}: every dtype builds and scores alike`, async (t) => {
    const { ids, types, logits } = JSON.parse(await readFile(path.join(checkpointDir, 'golden.json'), 'utf8')) as Golden
    const [row = []] = ids
    const feed = (values: readonly number[]) => int64(BigInt64Array.from(values, BigInt), [1, row.length])
    const feeds = { input_ids: feed(row), token_type_ids: feed(types.slice(0, row.length)), attention_mask: feed(row.map(() => 1)) }
    for (const dtype of DTYPES) {
      const outDir = path.join(t.testdir(), dtype)
      await buildModel({ checkpointDir, outDir, dtype })
      const model = await openModel(outDir)
      const [score = NaN] = floatsOf(output(await model.run('reranker.onnx', feeds), 'score'))
      await model[Symbol.asyncDispose]()
      const apart = Math.abs(score - (logits[0] ?? NaN))
      // 4 bits are coarse for matrices this small.
      t.ok(apart < (dtype === 'int4' || dtype === 'f16-int4' ? 3 : 0.3), `${dtype}: ${apart}`)
    }
  })
}

t.test('of a pair that is too long the longer text loses first', (t) => {
  const tokens = { cls_id: 1, sep_id: 2, pad_id: 0, separators: 1, passage_type: 1 }
  const pair = pairing({ tokens, dims: { vocab_size: 10, hidden_size: 1, layers: 1, heads: 1, window: 13 } }, '')
  const [query, text] = [7, 8].map((id) => (count: number) => Array.from({ length: count }, () => id))
  for (const [first, second, kept] of [
    [3, 4, [3, 4]],
    [3, 100, [3, 7]],
    [100, 3, [7, 3]],
    [100, 100, [5, 5]],
  ] as const) {
    const { ids, types } = pair(query?.(first) ?? [], text?.(second) ?? [])
    t.same(ids, [1, ...(query?.(kept[0]) ?? []), 2, ...(text?.(kept[1]) ?? []), 2])
    t.same(types, [0, ...Array.from({ length: kept[0] }, () => 0), 0, ...Array.from({ length: kept[1] + 1 }, () => 1)])
  }
  t.end()
})
