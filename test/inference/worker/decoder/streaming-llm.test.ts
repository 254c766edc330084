import { Tensor } from '../../../../models/runtime.ts'
import t from 'tap'
import { CodedError } from '../../../../base/errors.ts'
import { scoreStreaming } from '../../../../src/inference/worker/decoder/streaming-llm.ts'
import type { StepModel } from '../../../../src/inference/worker/decoder/step.ts'
import { createReader } from '../../../../src/inference/pool/models/create-reader.ts'
import { builtFixture } from '../../../fixtures/built-fixture.ts'
import { TASK_GOLDENS } from '../../../helpers/task-goldens.ts'
import { ATOL, largestDifference, numbers } from '../../pool/golden-requests.ts'

const none = { contexts: [], contextTokens: 1 }

for (const { whose, fixture, golden: goldenOf } of TASK_GOLDENS) {
  await t.test(`a streaming cache scores as ${whose} does`, async (t) => {
    const golden = await goldenOf('lm-streaming')
    const modelDir = await builtFixture(t, fixture)
    const ids = numbers(golden, 'input_ids')
    const [sinks = 0] = numbers(golden, 'sinks')
    const [recent = 0] = numbers(golden, 'recent')
    const [stride = 0] = numbers(golden, 'stride')
    const [window = 0] = numbers(golden, 'eval_window')
    for (const prefillTokens of [256, 7]) {
      const reader = await createReader({ modelDir, prefillTokens })
      const [logprobs = []] = await reader.score({
        ...none,
        promptIds: ids.slice(0, -window),
        continuations: [ids.slice(-window)],
        streaming: { sinks, recent, stride },
      })
      t.ok(largestDifference(logprobs, golden.floats('logprobs').data) < ATOL, `read ${prefillTokens} tokens at a time`)
      await reader.close({ drainMs: 0 })
    }
  })
}

await t.test('a streaming cache', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const ids = Array.from({ length: 60 }, (_, i) => 3 + ((i * 7) % 50))
  const request = { ...none, promptIds: ids.slice(0, 40), continuations: [ids.slice(40)] }
  const full = await reader.score(request)
  t.test('that never overflows is a full one', async (t) => {
    const streamed = await reader.score({ ...request, streaming: { sinks: 4, recent: 56, stride: 10 } })
    t.ok(largestDifference(streamed[0] ?? [], full[0] ?? []) < 1e-4)
  })
  t.test('that overflows reads a text longer than the window, which a full one refuses', async (t) => {
    const long = Array.from({ length: 700 }, (_, i) => 3 + ((i * 11) % 50))
    const asked = { ...none, promptIds: long.slice(0, 690), continuations: [long.slice(690)] }
    await t.rejects(reader.score(asked), { code: 'invalid_request', message: /window/ })
    const [scores = []] = await reader.score({ ...asked, streaming: { sinks: 4, recent: 28, stride: 32 } })
    t.equal(scores.length, 10)
    t.ok(scores.every((score) => Number.isFinite(score) && score < 0))
  })
  t.test('is refused where it cannot be had', async (t) => {
    await t.rejects(reader.score({ ...request, streaming: { sinks: -1, recent: 4, stride: 4 } }), {
      code: 'invalid_request',
      field: 'streaming.sinks',
    })
    await t.rejects(reader.score({ ...request, streaming: { sinks: 4, recent: 9999, stride: 4 } }), {
      code: 'invalid_request',
      field: 'streaming',
    })
    await t.rejects(reader.score({ ...request, continuations: [[3], [4]], streaming: { sinks: 4, recent: 8, stride: 4 } }), {
      code: 'invalid_request',
      field: 'continuations',
    })
  })
})

await t.test('no stop id is chosen before the least number of new tokens', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const request = { ...none, promptIds: [1, 5, 9], stopIds: [], maxNewTokens: 6 }
  const free = await reader.generate(request)
  const stopIds = [free.tokenIds[1] ?? 0]
  const stopped = await reader.generate({ ...request, stopIds })
  const least = await reader.generate({ ...request, stopIds, minNewTokens: 4 })
  t.ok(stopped.tokenIds.length <= 2)
  t.ok(least.tokenIds.length >= 4)
  t.notOk(least.tokenIds.slice(0, 4).some((id) => stopIds.includes(id)))
  await t.rejects(reader.generate({ ...request, minNewTokens: 7 }), { code: 'invalid_request', field: 'minNewTokens' })
})

await t.test('a streaming score that nobody waits for ends between two runs', async (t) => {
  const floats = (dims: number[]): Tensor => new Tensor('float32', new Float32Array(dims.reduce((size, dim) => size * dim, 1)), dims)
  let runs = 0
  const model: StepModel = {
    graph: {
      inputs: [],
      run: ({ input_ids: ids, attention_mask: mask }) => {
        runs++
        const [length, width] = [ids?.dims[1] ?? 0, mask?.dims[1] ?? 0]
        const cache = floats([1, 1, width, 2])
        return Promise.resolve({ logits: floats([1, length, 4]), 'present.0.key': cache, 'present.0.value': cache })
      },
      input: (_name, _bytes, dims) => floats([...dims]),
      release: () => Promise.resolve(),
    },
    dims: { layers: 1, heads: 1, kv_heads: 1, head_dim: 2, vocab_size: 4, encoder_hidden_size: 1 } as StepModel['dims'],
    byLength: false,
    prefillTokens: 2,
    batchTokens: 1,
  }
  const request = { ...none, promptIds: [1], continuations: [[1, 2, 3, 1, 2, 3, 1, 2, 3]] }
  const cache = { sinks: 1, recent: 2, stride: 2 }
  const score = (yieldPoint: () => Promise<void>) =>
    scoreStreaming(model, request, cache, { rotary: { frequencies: [1] }, phi: floats([0, 1]), yieldPoint })
  const [whole] = await score(() => Promise.resolve())
  t.equal(whole?.length, 9)
  t.equal(runs, 5)
  runs = 0
  const left = score(() => (runs < 2 ? Promise.resolve() : Promise.reject(new CodedError('client_closed', 'left'))))
  await t.rejects(left, { code: 'client_closed' })
  t.equal(runs, 2)
})
