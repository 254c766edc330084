import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tensor } from '../../models/runtime.ts'
import t from 'tap'
import { present } from '../../base/at.ts'
import { normal, writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { quantize } from '../../models/blocks/quantize.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { readF32 } from '../../models/checkpoint/weights.ts'
import { verifyGolden } from '../../src/inference/worker/tasks/verify.ts'
import { f32Safetensors } from '../fixtures/weights.ts'
import {
  build,
  CEPE,
  floats,
  goldenCheckpoints,
  goldenFiles,
  int64,
  largestDifference,
  randomIds,
  randomPhi,
  stepper,
  temporaryFolder,
} from './helpers.ts'

/** Reads MatMulNBits' layout back. */
function dequantize(
  matrix: Float32Array,
  [out, input]: readonly [number, number],
  { bits, blockSize }: { readonly bits: 4 | 8; readonly blockSize: number },
): Float32Array {
  const { values, scales, zeroPoints } = quantize(matrix, out, input, { bits, blockSize, scaleElem: 'f32' })
  const blocks = Math.ceil(input / blockSize)
  const scale = new Float32Array(scales.buffer)
  const number = (bytes: Uint8Array, rowBytes: number, row: number, i: number): number =>
    bits === 8 ? (bytes[row * rowBytes + i] ?? 0) : ((bytes[row * rowBytes + (i >> 1)] ?? 0) >> ((i & 1) * 4)) & 15
  return matrix.map((_, at) => {
    const [row, column] = [Math.floor(at / input), at % input]
    const block = Math.floor(column / blockSize)
    const q = number(values, (blocks * blockSize * bits) / 8, row, column)
    return (scale[row * blocks + block] ?? 0) * (q - number(zeroPoints, Math.ceil((blocks * bits) / 8), row, block))
  })
}

await t.test('quantised values stay within a step of the original', (t) => {
  const draw = normal(3)
  for (const bits of [4, 8] as const) {
    for (const [out, input, blockSize] of [
      [3, 64, 32],
      [5, 80, 32],
      [2, 130, 128],
      [1, 7, 32],
    ] as const) {
      const matrix = Float32Array.from({ length: out * input }, draw)
      const back = dequantize(matrix, [out, input], { bits, blockSize })
      const range = Math.max(...matrix) - Math.min(...matrix, 0)
      t.ok(largestDifference(matrix, back) <= range / (2 ** bits - 1), `${bits} bits, [${out},${input}], block ${blockSize}`)
    }
  }
  for (const constant of [0, 0.7, -2]) {
    t.ok(
      largestDifference(
        new Float32Array(64).fill(constant),
        dequantize(new Float32Array(64).fill(constant), [2, 32], { bits: 4, blockSize: 32 }),
      ) < 1e-6,
      `all ${constant}`,
    )
  }
  t.end()
})

const folder = temporaryFolder(t)
const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'cepe'), CEPE, { seed: 11, deviation: 0.15 })
const phi = randomPhi(9, 32, 12)
const prompt = randomIds(20, 13)

async function logitsOf(model: Awaited<ReturnType<typeof build>>): Promise<Float32Array> {
  return floats(await stepper(await model.graph('cepe_step'), model.manifest, phi)([prompt]))
}

async function statesOf(model: Awaited<ReturnType<typeof build>>): Promise<Float32Array> {
  const { phi: states } = await (
    await model.graph('cepe_encoder')
  )({
    input_ids: int64(prompt, [1, 20]),
    attention_mask: int64(
      prompt.map(() => 1),
      [1, 20],
    ),
  })
  return floats(states)
}

/** Root mean square of a - b over that of b. */
function relative(a: Float32Array, b: Float32Array): number {
  return Math.hypot(...a.map((value, i) => value - (b[i] ?? Number.NaN))) / Math.hypot(...b)
}

/** The checkpoint with the weights that its int4 build holds, in f32. */
async function roundedCheckpoint(dir: string, blockSize: number): Promise<string> {
  const source = await openCheckpoint(checkpointDir)
  const tensors = await Promise.all(
    [...source.tensors.values()].map(async ({ name, shape }) => {
      const [out = 0, input = 1] = shape
      const values = await readF32(source, name)
      const bits = name === 'lm_head.weight' ? 8 : /norm|embed|cross_attn\.[kv]_proj/.test(name) ? null : 4
      return [name, { shape, values: [...(bits ? dequantize(values, [out, input], { bits, blockSize }) : values)] }] as const
    }),
  )
  mkdirSync(dir)
  writeFileSync(join(dir, 'config.json'), JSON.stringify(CEPE))
  writeFileSync(join(dir, 'model.safetensors'), f32Safetensors(Object.fromEntries(tensors)))
  return dir
}

for (const blockSize of [32, 128] as const) {
  await t.test(`int4 in blocks of ${blockSize} computes what f32 does with the rounded weights`, async (t) => {
    const rounded = await build(t, { checkpointDir: await roundedCheckpoint(join(folder, `rounded${blockSize}`), blockSize), dtype: 'f32' })
    for (const dtype of ['int4', 'f16-int4'] as const) {
      const quantised = await build(t, { checkpointDir, dtype, int4: { blockSize, lmHead: 'int8' } })
      // What is left is the kernels' own rounding of activations to 8 bits.
      t.ok(relative(await logitsOf(quantised), await logitsOf(rounded)) < 0.06, `${dtype} logits`)
      t.ok(relative(await statesOf(quantised), await statesOf(rounded)) < 0.06, `${dtype} states`)
    }
  })
}

await t.test('lm_head is 8 bits or float', async (t) => {
  const sizes = await Promise.all(
    (['int8', 'float'] as const).map(async (lmHead) => {
      const { manifest } = await build(t, { checkpointDir, dtype: 'int4', int4: { blockSize: 32, lmHead }, outDir: join(folder, lmHead) })
      return manifest.files.find(({ name }) => name === 'weights.bin')?.bytes ?? 0
    }),
  )
  t.ok((sizes[0] ?? 0) < (sizes[1] ?? 0))
})

await t.test('f16 stays near the recorded outputs: states and logits within 0.1', async (t) => {
  for (const checkpointDir of goldenCheckpoints()) {
    const { dir } = await build(t, { checkpointDir, dtype: 'f16' })
    for (const { golden, differences } of await verifyGolden(dir, goldenFiles(checkpointDir), 0.1)) {
      for (const { tensor, ok, largest } of differences) {
        // Greedy decoding of random weights may turn at a near-tie; what precedes it is compared.
        if (!tensor.startsWith('generated')) t.ok(ok, `${checkpointDir} ${golden} ${tensor} ${largest}`)
      }
    }
  }
})

await t.test("f16 and f16-int4: generate runs and its first token is the step graph's", async (t) => {
  for (const dtype of ['f16', 'f16-int4'] as const) {
    const model = await build(t, { checkpointDir, dtype })
    const out: Record<string, Tensor> = await (
      await model.graph('cepe_generate')
    )({ input_ids: int64(prompt, [1, 20]), phi, stop_ids: int64([]), max_new_tokens: int64([5], []) })
    const last = (await logitsOf(model)).slice(-50)
    const first = Number((present(out['tokens']).data as BigInt64Array)[0])
    t.ok(Math.max(...last) - (last[first] ?? 0) < 0.05, dtype)
    t.equal(out['attention']?.type, 'float32')
    t.equal(out['logprobs']?.type, 'float32')
    t.same(out['tokens']?.dims, [5])
  }
})

await t.test('a weight beyond the f16 range is refused by name', async (t) => {
  const wide = await writeSyntheticCheckpoint(join(folder, 'wide'), CEPE, { seed: 2, deviation: 1e5 })
  await t.rejects(build(t, { checkpointDir: wide, dtype: 'f16' }), {
    code: 'unsupported',
    message: /tensor .* exceeds the f16 range; build with dtype f32/,
  })
})
