import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createReader } from '../../../../src/inference/pool/models/create-reader.ts'
import { builtFixture, goldenOf } from '../../../fixtures/built-fixture.ts'
import { requestOf } from '../golden-requests.ts'

await t.test('weights shared through saved graphs give the same numbers', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const request = requestOf(await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors'))
  const logged: string[] = []
  const answer = async (options: { prepack?: boolean }) => {
    const reader = await createReader({ modelDir, ...options, log: (level, message) => void logged.push(`${level} ${message}`) })
    const result = await reader.generate(request)
    const scores = await reader.score({ ...request, continuations: [result.tokenIds] })
    await reader.close()
    return { ...result, timingsMs: 0, scores }
  }
  const plain = await answer({})
  const prepackDir = path.join(modelDir, '.prepacked')
  for (const name of ['stale', 'fresh']) mkdirSync(path.join(prepackDir, `cepe_step-0.partial-${name}`), { recursive: true })
  utimesSync(path.join(prepackDir, 'cepe_step-0.partial-stale'), 0, 0)
  t.same(await answer({ prepack: true }), plain, 'saving')
  const saved = readdirSync(prepackDir).filter((name) => name !== '.turns')
  t.same(
    saved.map((name) => name.replace(/-[0-9a-f]{24}$/, '')).sort(),
    ['cepe_encoder', 'cepe_generate', 'cepe_step', 'cepe_step-0.partial-fresh'],
    'whole folders, and what another process may be writing',
  )
  t.same(await answer({ prepack: true }), plain, 'loading what was saved')
  t.same(logged, [])
  rmSync(prepackDir, { recursive: true })
  writeFileSync(prepackDir, '')
  t.same(await answer({ prepack: true }), plain, 'where nothing can be saved')
  t.equal(logged.length, 3)
  t.match(logged[0], /^warn .*cepe_encoder\.onnx are not shared.*ENOTDIR/)
})

await t.test('saved graphs that were damaged since are made again', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const request = requestOf(await goldenOf('cepe-tiny-gqa', 'golden-k5-right.safetensors'))
  const logged: string[] = []
  const answer = async () => {
    logged.length = 0
    const log = (level: string, message: string) => void logged.push(`${level} ${message}`)
    const reader = await createReader({ modelDir, prepack: true, children: 2, log })
    const result = await reader.generate(request)
    await reader.close()
    return { ...result, timingsMs: 0 }
  }
  const whole = await answer()
  t.same(logged, [])
  const prepackDir = path.join(modelDir, '.prepacked')
  const folder = path.join(prepackDir, readdirSync(prepackDir).find((name) => name.startsWith('cepe_generate')) ?? '')
  const weights = path.join(folder, 'weights.bin')
  const graph = path.join(folder, 'graph.onnx')
  const damages: [RegExp, () => void][] = [
    // Finite numbers, and as many: nothing that the runtime could notice.
    [/weights\.bin is not as it was written/, () => writeFileSync(weights, readFileSync(weights).fill(0x3c, 512, 4096))],
    [/weights\.bin has \d+ bytes in place of \d+/, () => truncateSync(weights, 100)],
    [/ENOENT.*weights\.bin/, () => rmSync(weights)],
    [/graph\.onnx is not as it was written/, () => writeFileSync(graph, readFileSync(graph).fill(0, 20, 30))],
    [/no sums\.json/, () => rmSync(path.join(folder, 'sums.json'))],
  ]
  for (const [said, damage] of damages) {
    damage()
    t.same(await answer(), whole, String(said))
    t.equal(logged.length, 1, logged.join('\n'))
    t.match(logged[0], /^warn .*cepe_generate.* is damaged .*it is made again/)
    t.match(logged[0], said)
    t.same(await answer(), whole)
    t.same(logged, [], 'once')
  }
  t.same(
    readdirSync(prepackDir).filter((name) => name.includes('partial')),
    [],
  )
})

await t.test('a damaged model is refused, naming the file', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const graph = path.join(modelDir, 'cepe_generate.onnx')
  const bytes = readFileSync(graph)
  writeFileSync(graph, Buffer.alloc(bytes.length, 0xff))
  await t.rejects(createReader({ modelDir, prepack: false }), { code: 'model_invalid', message: /cepe_generate\.onnx/ })
  writeFileSync(graph, bytes.subarray(1))
  await t.rejects(createReader({ modelDir }), { code: 'model_invalid', message: /cepe_generate\.onnx has \d+ bytes/ })
  writeFileSync(path.join(modelDir, 'manifest.json'), '{}')
  await t.rejects(createReader({ modelDir }), { code: 'model_invalid', message: /manifest\.json/ })
  await t.rejects(createReader({ modelDir: path.join(modelDir, 'nowhere') }), { code: 'model_invalid', message: /manifest\.json/ })
})

await t.test('a device that is not there is no reason to blame the model', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa', 'f16')
  await t.rejects(createReader({ modelDir, provider: { name: 'cuda', deviceId: 63 } }), {
    code: 'provider_unavailable',
    message: /^CUDA device 63 cannot be used: .*`cepe doctor` lists what CUDA needs, and CEPE_PROVIDER=cpu runs on the CPU\.$/,
  })
})
