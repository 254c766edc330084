import { readdirSync } from 'node:fs'
import t from 'tap'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { logSoftmax, mixLogprobs } from '../../../src/inference/worker/decoder/sampling.ts'
import { builtFixture, fixtureDir, goldenOf } from '../../fixtures/built-fixture.ts'
import { ATOL, largestDifference, numbers, requestOf, rowsOf } from './golden-requests.ts'

const F16_ATOL = 0.05
/**
 * int4 products round activations too, to 8 bits and by blocks, in other groups for one token than for a piece of a prompt. Kernels differ
 * by processor: 0.27 was seen with AVX2 alone. Tokens in another order are 5 away and more, a context left out 0.6 to 2.
 */
const INT4_ATOL = 0.4

for (const fixture of ['cepe-tiny-gqa', 'cepe-tiny', 'cepe-gqa']) {
  const dir = fixtureDir(fixture)
  await t.test(fixture, async (t) => {
    const modelDir = await builtFixture(t, fixture)
    // Small pieces, so that prompts are read in several and contexts encoded in several runs.
    const reader = await createReader({ modelDir, prefillTokens: 5, batchTokens: 40 })
    t.teardown(() => reader.close({ drainMs: 0 }))
    const files = readdirSync(dir ?? '').filter((file) => file.startsWith('golden'))

    for (const file of files.filter((file) => file !== 'golden-replug.safetensors')) {
      const golden = await goldenOf(fixture, file)
      const request = requestOf(golden)
      const vocabulary = golden.floats('logits').shape[2] ?? 0

      // The encoder's last id is padding: no text becomes it, but random ids may be it.
      const unwritable = rowsOf(golden, 'encoder_input_ids', 'encoder_attention_mask')
        .flat()
        .some((id) => id >= vocabulary)
      if (unwritable) continue
      await t.test(`${file}: greedy tokens, shares and scores`, async (t) => {
        const result = await reader.generate(request)
        t.same(result.tokenIds, numbers(golden, 'generated_ids'))
        t.ok(largestDifference(result.logprobs, golden.floats('generated_logprobs').data) < ATOL)
        t.same(
          result.contextTokenCounts,
          rowsOf(golden, 'encoder_input_ids', 'encoder_attention_mask').map((ids) => ids.length),
        )
        t.equal(result.contextShares.length, request.contexts.length)
        const total = result.contextShares.reduce((sum, share) => sum + share, 0)
        t.ok(Math.abs(total - (request.contexts.length > 0 ? 1 : 0)) < 1e-6, `shares sum to ${total}`)
        t.same({ ...(await reader.generate(request)), timingsMs: 0 }, { ...result, timingsMs: 0 }, 'the same with cached states')

        const [first = 0, ...others] = request.promptIds
        const expected = others.map(
          (id, i) => logSoftmax(golden.floats('logits').data.subarray(i * vocabulary, (i + 1) * vocabulary))[id] ?? NaN,
        )
        const scores = await reader.score({ ...request, promptIds: [first], continuations: others.length > 0 ? [others] : [] })
        for (const score of scores) t.ok(largestDifference(score, expected) < ATOL)

        const last = logSoftmax(golden.floats('logits').data.subarray(-vocabulary))
        const single = await reader.score({
          ...request,
          continuations: [result.tokenIds, ...Array.from({ length: vocabulary }, (_, id) => [id])],
        })
        t.ok(largestDifference(single[0] ?? [], result.logprobs) < ATOL)
        t.ok(largestDifference(single.slice(1).flat(), last) < ATOL)
      })
    }

    if (!files.includes('golden-replug.safetensors')) return
    await t.test('RePlug', async (t) => {
      const golden = await goldenOf(fixture, 'golden-replug.safetensors')
      const rows = rowsOf(golden, 'input_ids', 'attention_mask')
      const scores = [...golden.floats('context_scores').data]
      const [temperature = 1] = golden.floats('temperature').data
      const result = await reader.replug({
        prompts: rows.map((ids, i) => ({ ids, score: scores[i] ?? 0 })),
        temperature,
        stopIds: numbers(golden, 'stop_ids'),
        maxNewTokens: numbers(golden, 'max_new_tokens')[0] ?? 0,
      })
      t.same(result.tokenIds, numbers(golden, 'generated_ids'))
      t.ok(largestDifference(result.logprobs, golden.floats('generated_logprobs').data) < ATOL)
      const first = golden.floats('first_logprobs').data
      const everyToken = Array.from(first, (_, id) => [id])
      const distributions = await Promise.all(
        rows.map(async (promptIds) => {
          const scored = await reader.score({ promptIds, contexts: [], contextTokens: 1, continuations: everyToken })
          return Float64Array.from(scored.flat())
        }),
      )
      t.ok(largestDifference(mixLogprobs(distributions, scores, temperature), first) < ATOL)
    })
  })
}

for (const dtype of ['int4', 'f16'] as const) {
  await t.test(`every task of an ${dtype} build`, async (t) => {
    const modelDir = await builtFixture(t, 'cepe-tiny-gqa', dtype)
    const logged: string[] = []
    const reader = await createReader({
      modelDir,
      prepack: true,
      prefillTokens: 3,
      log: (level, message) => void logged.push(`${level} ${message}`),
    })
    t.teardown(() => reader.close({ drainMs: 0 }))
    const request = requestOf(await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors'))
    const greedy = await reader.generate(request)
    t.ok(greedy.tokenIds.length > 0)
    const sampled = await reader.generate({ ...request, sampling: { temperature: 1, topP: 1, seed: 1 } })
    const mixed = await reader.replug({
      ...request,
      prompts: [
        { ids: request.promptIds, score: 0 },
        { ids: request.promptIds.slice(2), score: -100 },
      ],
      temperature: 1,
    })
    const scored = (result: { readonly tokenIds: readonly number[] }, contexts = request.contexts) =>
      reader.score({ ...request, contexts, continuations: [result.tokenIds] })
    for (const [name, result, scores] of [
      ['greedy', greedy, await scored(greedy)],
      ['sampled', sampled, await scored(sampled)],
      ['RePlug', mixed, await scored(mixed, [])],
    ] as const) {
      const difference = largestDifference(scores[0] ?? [], result.logprobs)
      t.ok(difference < (dtype === 'int4' ? INT4_ATOL : F16_ATOL), `${name} agrees with its score (${difference})`)
    }
    // Without VNNI instructions a warning is logged first.
    t.match(logged.filter((line) => line.startsWith('info '))[0], /cepe_encoder\.onnx are not shared/)
  })
}
