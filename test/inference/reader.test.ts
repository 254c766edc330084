import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { Golden } from '../../models/golden.ts'
import type { GenerateRequest } from '../../src/inference/contract.ts'
import { createReader } from '../../src/inference/create-reader.ts'
import { logSoftmax, mixLogprobs } from '../../src/inference/sampling.ts'
import { builtFixture, fixtureDir, goldenOf, wordsOf } from '../helpers/built-fixture.ts'
import { childEntry } from '../helpers/child-entry.ts'

const entry = childEntry()

/** Largest difference to the reference implementation, in f32. */
const ATOL = 2e-4

const rowsOf = (golden: Golden, ids: string, mask: string): number[][] => {
  if (!golden.has(ids)) return []
  const { data, shape: [rows = 0, length = 0] } = golden.ints(ids)
  const kept = golden.ints(mask).data
  return Array.from({ length: rows }, (_, row) => [...data.subarray(row * length, (row + 1) * length)].filter((_, i) => kept[row * length + i] === 1n).map(Number))
}
const numbers = (golden: Golden, name: string): number[] => Array.from(golden.ints(name).data, Number)

const requestOf = (golden: Golden): GenerateRequest => ({
  contexts: rowsOf(golden, 'encoder_input_ids', 'encoder_attention_mask').map(wordsOf),
  contextTokens: 256,
  promptIds: numbers(golden, 'input_ids'),
  stopIds: numbers(golden, 'stop_ids'),
  maxNewTokens: numbers(golden, 'max_new_tokens')[0] ?? 0,
})

const largestDifference = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  a.length === b.length ? Math.max(...Array.from(a, (value, i) => Math.abs(value - (b[i] ?? NaN)))) : NaN

for (const fixture of ['cepe-tiny-gqa', 'cepe-tiny']) {
  const dir = fixtureDir(fixture)
  await t.test(fixture, { skip: dir === undefined && 'fixture not at hand' }, async (t) => {
    const modelDir = await builtFixture(t, fixture)
    // Small pieces, so that prompts are read in several and contexts encoded in several runs.
    const reader = await createReader({ modelDir, entry, prefillTokens: 5, batchTokens: 40 })
    t.teardown(() => reader.close({ drainMs: 0 }))
    const files = readdirSync(dir ?? '').filter((file) => file.startsWith('golden'))

    for (const file of files.filter((file) => file !== 'golden-replug.safetensors')) {
      const golden = await goldenOf(fixture, file)
      const request = requestOf(golden)
      const vocabulary = golden.floats('logits').shape[2] ?? 0

      await t.test(`${file}: greedy tokens, shares and scores`, async (t) => {
        const result = await reader.generate(request)
        t.same(result.tokenIds, numbers(golden, 'generated_ids'))
        t.ok(largestDifference(result.logprobs, golden.floats('generated_logprobs').data) < ATOL)
        t.same(result.contextTokenCounts, rowsOf(golden, 'encoder_input_ids', 'encoder_attention_mask').map((ids) => ids.length))
        t.equal(result.contextShares.length, request.contexts.length)
        const total = result.contextShares.reduce((sum, share) => sum + share, 0)
        t.ok(Math.abs(total - (request.contexts.length > 0 ? 1 : 0)) < 1e-6, `shares sum to ${total}`)
        t.same({ ...(await reader.generate(request)), timingsMs: 0 }, { ...result, timingsMs: 0 }, 'the same with cached states')

        const [first = 0, ...others] = request.promptIds
        const expected = others.map((id, i) => logSoftmax(golden.floats('logits').data.subarray(i * vocabulary, (i + 1) * vocabulary))[id] ?? NaN)
        const scores = await reader.score({ ...request, promptIds: [first], continuations: others.length > 0 ? [others] : [] })
        for (const score of scores) t.ok(largestDifference(score, expected) < ATOL)

        const last = logSoftmax(golden.floats('logits').data.subarray(-vocabulary))
        const single = await reader.score({ ...request, continuations: [result.tokenIds, ...Array.from({ length: vocabulary }, (_, id) => [id])] })
        t.ok(largestDifference(single[0] ?? [], result.logprobs) < ATOL)
        t.ok(largestDifference(single.slice(1).flat(), last) < ATOL)
      })
    }

    await t.test('RePlug', { skip: !files.includes('golden-replug.safetensors') && 'no golden' }, async (t) => {
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
      const distributions = await Promise.all(rows.map(async (promptIds) => {
        const scored = await reader.score({ promptIds, contexts: [], contextTokens: 1, continuations: everyToken })
        return Float64Array.from(scored.flat())
      }))
      t.ok(largestDifference(mixLogprobs(distributions, scores, temperature), first) < ATOL)
    })
  })
}

await t.test('one reader', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir, entry, stateCacheBytes: 0 })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const golden = await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors')
  const request = requestOf(golden)

  await t.test('sampling: a seed names a result, its log-probabilities are the model\'s, low temperature is greedy', async (t) => {
    const sample = (seed: number, temperature = 1.5, topP = 1) => reader.generate({ ...request, stopIds: [], sampling: { temperature, topP, seed } })
    const one = await sample(1)
    t.same((await sample(1)).tokenIds, one.tokenIds)
    const others = await Promise.all([2, 3, 4].map((seed) => sample(seed)))
    t.ok(others.some(({ tokenIds }) => tokenIds.join() !== one.tokenIds.join()))
    const [scores = []] = await reader.score({ ...request, continuations: [one.tokenIds] })
    t.ok(largestDifference(scores, one.logprobs) < ATOL)
    t.same(one.contextShares, [])
    const greedy = await reader.generate({ ...request, stopIds: [] })
    t.same((await sample(1, 1e-3)).tokenIds, greedy.tokenIds)
    t.same((await sample(1, 1, 1e-6)).tokenIds, greedy.tokenIds)
    t.equal(greedy.tokenIds.length, request.maxNewTokens)
  })

  await t.test('contexts are truncated from their end, and their order changes only rounding', async (t) => {
    const cut = await reader.generate({ ...request, contextTokens: 3 })
    t.same(cut.contextTokenCounts, request.contexts.map((text) => Math.min(3, text.split(' ').length)))
    const front = await reader.generate({ ...request, contexts: request.contexts.map((text) => text.split(' ').slice(0, 3).join(' ')) })
    t.same({ ...cut, timingsMs: 0 }, { ...front, timingsMs: 0 })
    const straight = await reader.generate(request)
    const reversed = await reader.generate({ ...request, contexts: [...request.contexts].reverse() })
    t.same(reversed.tokenIds, straight.tokenIds)
    t.ok(largestDifference(reversed.logprobs, straight.logprobs) < 1e-5)
    t.ok(largestDifference([...reversed.contextShares].reverse(), straight.contextShares) < 1e-5)
  })

  await t.test('empty contexts have no states and no share', async (t) => {
    const with0 = await reader.generate({ ...request, contexts: ['', ...request.contexts, '   '] })
    const without = await reader.generate(request)
    t.same(with0.tokenIds, without.tokenIds)
    t.same(with0.contextTokenCounts, [0, ...without.contextTokenCounts, 0])
    t.same(with0.contextShares, [0, ...without.contextShares, 0])
    t.same((await reader.generate({ ...request, contexts: [''] })).contextShares, [0])
  })

  await t.test('requests that the model cannot take are refused by field', async (t) => {
    const bad: [Partial<GenerateRequest>, string][] = [
      [{ promptIds: [] }, 'promptIds'],
      [{ promptIds: [10_000] }, 'promptIds'],
      [{ promptIds: [-1] }, 'promptIds'],
      [{ maxNewTokens: 0 }, 'maxNewTokens'],
      [{ maxNewTokens: 10_000 }, 'promptIds'],
      [{ contextTokens: 0 }, 'contextTokens'],
      [{ stopIds: [0.5] }, 'stopIds'],
      [{ sampling: { temperature: 0, topP: 1, seed: 1 } }, 'sampling.temperature'],
      [{ sampling: { temperature: 1, topP: 1.1, seed: 1 } }, 'sampling.topP'],
      [{ sampling: { temperature: 1, topP: 1, seed: 0.5 } }, 'sampling.seed'],
    ]
    for (const [part, field] of bad) await t.rejects(reader.generate({ ...request, ...part }), { code: 'invalid_request', details: { field } })
    await t.rejects(reader.score({ ...request, continuations: [[1], []] }), { code: 'invalid_request', details: { field: 'continuations[1]' } })
    await t.rejects(reader.replug({ prompts: [], temperature: 1, stopIds: [], maxNewTokens: 1 }), { code: 'invalid_request', details: { field: 'prompts' } })
    await t.rejects(reader.replug({ prompts: [{ ids: [1], score: NaN }], temperature: 1, stopIds: [], maxNewTokens: 1 }), { code: 'invalid_request', details: { field: 'prompts[0].score' } })
  })

  await t.test('killed while it runs, it is replaced and gives the same answer', async (t) => {
    const before = await reader.generate(request)
    const running = t.rejects(reader.generate(request), { code: 'inference_failed' })
    process.kill(reader.status().children[0]?.pid ?? 0, 'SIGKILL')
    await running
    t.same({ ...(await reader.generate(request)), timingsMs: 0 }, { ...before, timingsMs: 0 })
    t.equal(reader.status().restarts, 1)
  })
})

await t.test('weights shared through saved graphs give the same numbers', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const request = requestOf(await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors'))
  const logged: string[] = []
  const answer = async (options: { prepack?: boolean; prepackDir?: string }) => {
    const reader = await createReader({ modelDir, entry, ...options, log: (level, message) => void logged.push(`${level} ${message}`) })
    const result = await reader.generate(request)
    const scores = await reader.score({ ...request, continuations: [result.tokenIds] })
    await reader.close()
    return { ...result, timingsMs: 0, scores }
  }
  const plain = await answer({})
  t.same(await answer({ prepack: true }), plain, 'saving')
  const saved = readdirSync(path.join(modelDir, '.prepacked'))
  t.same(saved.map((name) => name.replace(/-[0-9a-f]+$/, '')).sort(), ['cepe_encoder', 'cepe_generate', 'cepe_step'], 'whole folders only')
  t.same(await answer({ prepack: true }), plain, 'loading what was saved')
  t.same(logged, [])
  const file = path.join(modelDir, 'a-file')
  writeFileSync(file, '')
  t.same(await answer({ prepack: true, prepackDir: path.join(file, 'below') }), plain, 'where nothing can be saved')
  t.equal(logged.length, 3)
  t.match(logged[0], /^warn .*cepe_encoder\.onnx are not shared.*ENOTDIR/)
})

await t.test('a damaged model is refused, naming the file', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const graph = path.join(modelDir, 'cepe_generate.onnx')
  const bytes = readFileSync(graph)
  writeFileSync(graph, Buffer.alloc(bytes.length, 0xff))
  await t.rejects(createReader({ modelDir, entry, prepack: false }), { code: 'model_invalid', message: /cepe_generate\.onnx/ })
  writeFileSync(graph, bytes.subarray(1))
  await t.rejects(createReader({ modelDir, entry }), { code: 'model_invalid', message: /cepe_generate\.onnx has \d+ bytes/ })
  writeFileSync(path.join(modelDir, 'manifest.json'), '{}')
  await t.rejects(createReader({ modelDir, entry }), { code: 'model_invalid', message: /manifest\.json/ })
  await t.rejects(createReader({ modelDir: path.join(modelDir, 'nowhere') }), { code: 'model_invalid', message: /manifest\.json/ })
})
