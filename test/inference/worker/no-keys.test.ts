import t from 'tap'
import { loadCepeManifest } from '../../../models/folder.ts'
import { float32, floats, int64, integers, loadGraph } from '../../../src/inference/worker/runtime/session.ts'
import { builtFixture } from '../../fixtures/built-fixture.ts'

for (const name of ['cepe-tiny', 'cepe-tiny-gqa'])
  await t.test(`${name}: a row of zeros, which stands for empty encoder states on CUDA, is read like none`, async (t) => {
    const modelDir = await builtFixture(t, name)
    const { dims } = await loadCepeManifest(modelDir)
    const graph = await loadGraph(`${modelDir}/cepe_generate.onnx`, { threads: 1, provider: { name: 'cpu' } })
    t.teardown(() => graph.release())
    const answer = async (rows: number, length: number) => {
      const ids = Array.from({ length }, (_, i) => 3 + ((i * 37) % (dims.vocab_size - 3)))
      const outputs = await graph.run({
        input_ids: int64(ids, [1, length]),
        phi: float32(new Float32Array(rows * dims.encoder_hidden_size), [rows, dims.encoder_hidden_size]),
        stop_ids: int64([-1], [1]),
        max_new_tokens: int64([4], []),
      })
      return { tokens: integers(outputs, 'tokens'), logprobs: Array.from(floats(outputs, 'logprobs')) }
    }
    // A few queries, and so many that keys are projected.
    for (const length of [1, 3, 100]) {
      const [none, zeros] = [await answer(0, length), await answer(1, length)]
      t.equal(none.tokens.length, 4)
      t.same(zeros, none, `a prompt of ${length} tokens`)
    }
  })
