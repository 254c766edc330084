import t from 'tap'
import { encodeContexts, type ContextEncoder } from '../../../../src/inference/worker/encoder/encode-contexts.ts'
import { loadCepeManifest } from '../../../../models/folder.ts'
import { floats, loadGraph, type Feeds } from '../../../../src/inference/worker/runtime/session.ts'
import { createStateCache, createStateCodec } from '../../../../src/inference/worker/encoder/state-cache.ts'
import { loadTokenizer } from '../../../../src/text/tokenizer.ts'
import { builtFixture, wordsOf } from '../../../fixtures/built-fixture.ts'

await t.test('contexts are encoded once, in batches of like length, and come back in their order', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const manifest = await loadCepeManifest(modelDir)
  const graph = await loadGraph(`${modelDir}/cepe_encoder.onnx`, { threads: 1, provider: { name: 'cpu' } })
  t.teardown(() => graph.release())
  const runs: (readonly number[])[] = []
  const recording = { ...graph, run: (feeds: Feeds) => (runs.push(feeds['input_ids']?.dims ?? []), graph.run(feeds)) }
  const codec = await createStateCodec('f32')
  const tokenizer = await loadTokenizer(modelDir, { bos_id: 1, eos_ids: [2] })
  const encoder = (stateCacheBytes: number, batchTokens = 16): ContextEncoder => ({
    graph: recording,
    tokenizer,
    manifest,
    cache: createStateCache(stateCacheBytes),
    codec,
    store: null,
    batchTokens,
  })
  const text = (start: number, length: number): string => wordsOf(Array.from({ length }, (_, i) => 3 + ((start + i * 5) % 40)))
  const contexts = [text(1, 4), text(2, 8), text(3, 3), text(4, 8), text(2, 8), text(5, 4)]
  const request = { contexts, contextTokens: 8 }

  const alone = await Promise.all(contexts.map((context) => encodeContexts(encoder(0), { ...request, contexts: [context] })))
  const expected = alone.flatMap(({ phi }) => [...floats({ phi }, 'phi')])
  runs.length = 0

  const cached = encoder(1 << 20)
  const { phi, tokenCounts } = await encodeContexts(cached, request)
  t.same(tokenCounts, [4, 8, 3, 8, 8, 4])
  t.same(phi.dims, [35, manifest.dims.encoder_hidden_size])
  const states = floats({ phi }, 'phi')
  t.ok(expected.every((value, i) => Math.abs(value - (states[i] ?? NaN)) < 1e-5))
  t.same(
    runs,
    [
      [2, 8],
      [3, 4],
    ],
    'two of 8 tokens; 4, 4 and 3 padded to 4; the repeated one once',
  )

  const again = await encodeContexts(cached, { ...request, contexts: [...contexts].reverse() })
  t.same(again.tokenCounts, [...tokenCounts].reverse())
  t.equal(runs.length, 2, 'nothing is encoded again')
  await encodeContexts(cached, { contexts: [contexts[0] ?? '', text(9, 2)], contextTokens: 8 })
  t.same(runs.at(-1), [1, 2], 'only the new one')
  await encodeContexts(cached, { ...request, contextTokens: 2 })
  t.same(runs.at(-1), [5, 2], 'another truncation has other states')
  const none = await encodeContexts(cached, { contexts: [], contextTokens: 8 })
  t.same(none.phi.dims, [0, manifest.dims.encoder_hidden_size])

  const ids = contexts.map((context) => tokenizer.encode(context))
  const given = await encodeContexts(encoder(1 << 20), { contexts: [], contextIds: ids, contextTokens: 8 })
  t.same(given.tokenCounts, tokenCounts)
  t.ok(
    floats({ phi: given.phi }, 'phi').every((value, i) => Math.abs(value - (states[i] ?? NaN)) < 1e-5),
    'ids of the same texts have the same states',
  )
  runs.length = 0
  const byIds = encoder(1 << 20)
  await encodeContexts(byIds, { contexts: [], contextIds: [[5, 6, 7, 8]], contextTokens: 3 })
  await encodeContexts(byIds, { contexts: [], contextIds: [[5, 6, 7]], contextTokens: 8 })
  t.same(runs, [[1, 3]], 'what is cut to the same ids is the same context')
})
