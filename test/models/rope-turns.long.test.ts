import t from 'tap'
import path from 'node:path'
import type { RopeOption } from '../../models/blocks/rope-option.ts'
import { buildModel } from '../../models/build.ts'
import { readGolden } from '../../models/golden.ts'
import { verifyGolden } from '../../src/inference/worker/tasks/verify.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import type { GenerateRequest } from '../../src/inference/contract.ts'
import { builtFixture, wordsOf } from '../fixtures/built-fixture.ts'
import { root } from '../helpers/root.ts'
import { ATOL, largestDifference, numbers, question } from '../inference/pool/golden-requests.ts'

const WINDOW = 256
const none = { contexts: [], contextTokens: 1 }

/** xPos and a basis by length, as models/tiny/recipe/make_rope_fixtures.py writes them out. */
for (const rope of ['xpos:64', 'xpos-halves:64', 'dynamic:2']) {
  await t.test(`${rope}: scores, answers and a streaming cache`, async (t) => {
    const golden = await readGolden(path.join(root, 'test/fixtures/tasks', `turns-${rope.replace(':', '-')}.safetensors`))
    const built = await builtFixture(t, 'cepe-tiny-gqa')
    const modelDir = path.join(built, '..', 'changed')
    await buildModel({
      checkpointDir: path.join(built, '..', 'checkpoint'),
      outDir: modelDir,
      dtype: 'f32',
      rope: { rope, window: WINDOW },
    })
    const ids = numbers(golden, 'input_ids')
    const scored = [...golden.floats('logprobs').data]
    const request: GenerateRequest = { ...none, promptIds: ids, stopIds: [], maxNewTokens: 24 }
    // In pieces of which none ends where the trained window does; the generate graph reads the prompt at once.
    const reader = await createReader({ modelDir, prefillTokens: 37 })
    t.teardown(() => reader.close({ drainMs: 0 }))
    const [tail = []] = await reader.score({ ...none, promptIds: ids.slice(0, -40), continuations: [ids.slice(-40)] })
    t.ok(largestDifference(tail, scored.slice(-40)) < ATOL, 'scores after a cached prompt')
    const whole = { ...none, promptIds: ids.slice(0, 1), continuations: [ids.slice(1)] }
    t.ok(largestDifference((await reader.score(whole))[0] ?? [], scored) < ATOL, 'scores of the whole text')
    const answers = {
      'in one run': await reader.generate(request),
      'step by step': await reader.generate({ ...request, minNewTokens: 1 }),
    }
    for (const [way, { tokenIds, logprobs }] of Object.entries(answers)) {
      t.same(tokenIds, numbers(golden, 'generated_ids'), `tokens made ${way}`)
      t.ok(largestDifference(logprobs, golden.floats('generated_logprobs').data) < ATOL, `their log-probabilities, ${way}`)
    }
    const read = question(wordsOf(ids.slice(0, 120)), { mode: 'decoder-only', kDecoder: 4 })
    const unheard = await reader.answer(read)
    const heard = await reader.answer(read, { onText: () => undefined })
    t.ok(unheard.promptTokens > 128, 'a prompt beyond the trained window')
    t.same([heard.text, heard.logprobs], [unheard.text, unheard.logprobs], 'the same answer a token a run')
    const streamed = reader.score({ ...whole, streaming: { sinks: 4, recent: 28, stride: 32 } })
    if (golden.has('streamed'))
      t.ok(largestDifference((await streamed)[0] ?? [], golden.floats('streamed').data) < ATOL, 'a streaming cache')
    else await t.rejects(streamed, { code: 'unsupported', message: /shifts keys/ }, 'keys of another basis cannot be moved')
  })
}

await t.test('with a basis by length, texts of several lengths share a batch and none changes another', async (t) => {
  const built = await builtFixture(t, 'cepe-tiny-gqa')
  const modelDir = path.join(built, '..', 'changed')
  const rope = { rope: 'dynamic:2', window: WINDOW }
  await buildModel({ checkpointDir: path.join(built, '..', 'checkpoint'), outDir: modelDir, dtype: 'f32', rope })
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const ids = Array.from({ length: 200 }, (_, i) => 3 + ((i * 7) % 50))
  const alone = await reader.generate({ ...none, promptIds: ids, stopIds: [], maxNewTokens: 8, minNewTokens: 1 })
  const mixed = await reader.replug({
    prompts: [
      { ids, score: 1000 },
      { ids: ids.slice(0, 90), score: 0 },
    ],
    temperature: 1,
    stopIds: [],
    maxNewTokens: 8,
  })
  t.same(mixed.tokenIds, alone.tokenIds)
  const [within] = await verifyGolden(modelDir, ['test/fixtures/recipe/cepe-tiny-gqa/golden-k3-left.safetensors'], ATOL)
  t.ok(within?.ok, 'texts within the trained window are as without it')
  t.ok(largestDifference(mixed.logprobs, alone.logprobs) < 1e-4)
})

await t.test('xPos in half precision is refused', async (t) => {
  const built = await builtFixture(t, 'cepe-tiny-gqa')
  const outDir = path.join(built, '..', 'changed')
  await t.rejects(buildModel({ checkpointDir: path.join(built, '..', 'checkpoint'), outDir, dtype: 'f16', rope: { rope: 'xpos:512' } }), {
    code: 'unsupported',
    field: 'rope',
    message: /f32/,
  })
})

await t.test('a build says that a dynamic basis has no effect within the window', async (t) => {
  const built = await builtFixture(t, 'cepe-tiny')
  const checkpointDir = path.join(built, '..', 'checkpoint')
  const warningsOf = async (rope: RopeOption): Promise<string[]> => {
    const warnings: string[] = []
    await buildModel({
      checkpointDir,
      outDir: path.join(built, '..', 'dynamic'),
      dtype: 'f32',
      rope,
      onWarning: (text) => warnings.push(text),
    })
    return warnings.filter((text) => text.startsWith('rope_scaling'))
  }
  t.match(await warningsOf({ rope: 'dynamic:2' }), [
    /^rope_scaling "dynamic" has no effect: .* build with --window \d+ to read longer ones$/,
  ])
  t.same(await warningsOf({ rope: 'dynamic:2', window: 100_000 }), [])
  t.same(await warningsOf({}), [])
})
