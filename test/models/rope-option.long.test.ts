import t from 'tap'
import path from 'node:path'
import { rotaryFrequencies, rotaryTable } from '../../models/blocks/rope.ts'
import { parseRopeOption } from '../../models/blocks/rope-option.ts'
import { buildModel } from '../../models/build.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import { logSoftmax } from '../../src/inference/worker/decoder/sampling.ts'
import { builtFixture, fixtureDir } from '../fixtures/built-fixture.ts'
import { TASK_GOLDENS } from '../helpers/task-goldens.ts'
import { ATOL, largestDifference, numbers } from '../inference/pool/golden-requests.ts'

const GOLDENS = {
  'rope-none': 'none',
  'rope-linear-4': 'linear:4',
  'rope-power-0.5': 'power:0.5',
  'rope-truncated-64': 'truncated:64',
  'rope-truncated-64-linear-2': 'linear:2+truncated:64',
}

for (const { whose, fixture, golden: goldenOf } of TASK_GOLDENS) {
  for (const [name, rope] of Object.entries(GOLDENS)) {
    await t.test(`${rope} as ${whose} has it: frequencies and logits`, async (t) => {
      const golden = await goldenOf(name)
      const ropeScaling = parseRopeOption(rope, 256)
      const expected = golden.floats('frequencies').data
      const config = { headDim: 2 * expected.length, window: 256, ropeTheta: 10_000, ropeScaling }
      t.ok(largestDifference(rotaryFrequencies(config), expected) < 1e-6, 'frequencies')
      const built = await builtFixture(t, fixture)
      const outDir = path.join(built, '..', 'changed')
      const manifest = await buildModel({ checkpointDir: path.join(built, '..', 'checkpoint'), outDir, dtype: 'f32', rope: { rope } })
      t.equal(manifest.source.name, `checkpoint+${rope}`)
      const reader = await createReader({ modelDir: outDir })
      const ids = numbers(golden, 'input_ids')
      const [first = 0, ...others] = ids
      const [scores = []] = await reader.score({ contexts: [], contextTokens: 1, promptIds: [first], continuations: [others] })
      const { data: logits, shape } = golden.floats('logits')
      const vocabulary = shape.at(-1) ?? 0
      const wanted = others.map((id, i) => logSoftmax(logits.subarray(i * vocabulary, (i + 1) * vocabulary))[id] ?? Number.NaN)
      t.ok(largestDifference(scores, wanted) < ATOL, 'logits')
      await reader.close({ drainMs: 0 })
    })
  }
}

await t.test('a window of its own, random steps, and what there is not', async (t) => {
  const source = fixtureDir('cepe-tiny-gqa') ?? ''
  const outDir = t.testdir({})
  const manifest = await buildModel({ checkpointDir: source, outDir, dtype: 'f32', rope: { rope: 'randomised:0.0625', window: 512 } })
  t.match(manifest, { dims: { window: 512 }, rotary: null, source: { name: 'cepe-tiny-gqa+randomised:0.0625+window:512' } })
  const config = { headDim: 2, window: 50, ropeTheta: 1, ropeScaling: parseRopeOption('randomised:0.5', 50) }
  const places = [...rotaryTable(config, (angle) => angle)]
  t.equal(places[0], 0)
  t.ok(places.slice(1).every((place, i) => place - (places[i] ?? NaN) >= 0.49 && place - (places[i] ?? NaN) <= 1))
  for (const wrong of [
    'xpos',
    'xpos:0',
    'dynamic',
    'dynamic:0.5',
    'xpos:512+linear:2',
    'linear',
    'linear:0',
    'power:1+power:2',
    'yarn:2+linear:2',
    'nothing:3',
    'randomised:2',
  ])
    t.throws(() => parseRopeOption(wrong, 256), { code: 'unsupported', field: 'rope' }, wrong)
})
