import { rename } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import type { GenerateRequest } from '../../../src/inference/contract.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { buildWithWords, builtFixture, goldenOf } from '../../fixtures/built-fixture.ts'
import { LLAMA_CONFIG, weightsFor, writeFolder } from '../../fixtures/checkpoint-folder.ts'
import { f32Safetensors } from '../../fixtures/weights.ts'
import { ATOL, largestDifference, requestOf } from './golden-requests.ts'

await t.test('one reader', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir, stateCacheBytes: 0 })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const golden = await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors')
  const request = requestOf(golden)

  await t.test("sampling: a seed names a result, its log-probabilities are the model's, low temperature is greedy", async (t) => {
    const sample = (seed: number, temperature = 1.5, topP = 1) =>
      reader.generate({ ...request, stopIds: [], sampling: { temperature, topP, seed } })
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
    t.same(
      cut.contextTokenCounts,
      request.contexts.map((text) => Math.min(3, text.split(' ').length)),
    )
    const front = await reader.generate({ ...request, contexts: request.contexts.map((text) => text.split(' ').slice(0, 3).join(' ')) })
    t.same({ ...cut, timingsMs: 0 }, { ...front, timingsMs: 0 })
    const straight = await reader.generate(request)
    const reversed = await reader.generate({ ...request, contexts: [...request.contexts].reverse() })
    t.same(reversed.tokenIds, straight.tokenIds)
    t.ok(largestDifference(reversed.logprobs, straight.logprobs) < 1e-5)
    t.ok(largestDifference([...reversed.contextShares].reverse(), straight.contextShares) < 1e-5)
  })

  await t.test('states in half precision: the same tokens, log-probabilities within its rounding, again from the disk', async (t) => {
    const exact = await reader.generate(request)
    const stateDisk = { dir: path.join(t.testdirName, 'states'), maxBytes: 2 ** 20 }
    const options = { modelDir, stateCacheBytes: 0, stateDtype: 'f16', stateDisk } as const
    const rounded: (typeof exact)[] = []
    for (let start = 0; start < 2; start++) {
      const halved = await createReader(options)
      rounded.push(await halved.generate(request))
      await halved.encodeAhead(request)
      await halved.close({ drainMs: 0 })
    }
    const [fresh, stored] = rounded
    t.same(fresh?.tokenIds, exact.tokenIds)
    const difference = largestDifference(fresh?.logprobs ?? [], exact.logprobs)
    t.ok(difference > 0 && difference < 2 ** -10, `rounded, and by ${difference}`)
    t.same({ ...stored, timingsMs: 0 }, { ...fresh, timingsMs: 0 }, 'another process reads what the first stored, and answers the same')
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
    for (const [part, field] of bad) await t.rejects(reader.generate({ ...request, ...part }), { code: 'invalid_request', field })
    await t.rejects(reader.score({ ...request, continuations: [[1], []] }), {
      code: 'invalid_request',
      field: 'continuations[1]',
    })
    await t.rejects(reader.replug({ prompts: [], temperature: 1, stopIds: [], maxNewTokens: 1 }), {
      code: 'invalid_request',
      field: 'prompts',
    })
    await t.rejects(reader.replug({ prompts: [{ ids: [1], score: NaN }], temperature: 1, stopIds: [], maxNewTokens: 1 }), {
      code: 'invalid_request',
      field: 'prompts[0].score',
    })
  })

  await t.test('killed while it runs, it is replaced and gives the same answer', async (t) => {
    const before = await reader.generate(request)
    const running = reader.generate(request)
    process.kill(reader.status().children[0]?.pid ?? 0, 'SIGKILL')
    t.same({ ...(await running), timingsMs: 0 }, { ...before, timingsMs: 0 })
    t.equal(reader.status().restarts, 1)
  })
})

await t.test('a graph that is loaded when it is wanted, and could not be, is loaded when it is wanted again', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const golden = requestOf(await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors'))
  const sampled: GenerateRequest = { ...golden, stopIds: [], sampling: { temperature: 1, topP: 1, seed: 1 } }
  const [graph, away] = ['cepe_step.onnx', 'away'].map((name) => path.join(modelDir, name)) as [string, string]
  await rename(graph, away)
  await t.rejects(reader.generate(sampled), { code: 'model_invalid' })
  await rename(away, graph)
  t.equal((await reader.generate(sampled)).tokenIds.length, sampled.maxNewTokens)
})

await t.test('a decoder alone takes prompts, and no contexts', async (t) => {
  const config = { ...LLAMA_CONFIG, hidden_size: 32 }
  const checkpoint = writeFolder(path.join(t.testdir({}), 'checkpoint'), {
    'config.json': config,
    'model.safetensors': f32Safetensors(weightsFor(config)),
  })
  const reader = await createReader({ modelDir: await buildWithWords(checkpoint, path.join(t.testdirName, 'built'), 'f32') })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const request = { contexts: [], contextTokens: 8, promptIds: [1, 4, 5, 6], stopIds: [], maxNewTokens: 6 }
  const greedy = await reader.generate(request)
  t.equal(greedy.tokenIds.length, 6)
  t.same(greedy.contextShares, [])
  const [scores = []] = await reader.score({ ...request, continuations: [greedy.tokenIds] })
  t.ok(largestDifference(scores, greedy.logprobs) < ATOL)
  const mixed = await reader.replug({ ...request, prompts: [{ ids: request.promptIds, score: 1 }], temperature: 1 })
  t.same(mixed.tokenIds, greedy.tokenIds)
  await t.rejects(reader.generate({ ...request, contexts: ['w3'] }), { code: 'invalid_request', field: 'contexts' })
})
