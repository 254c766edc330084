import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { normal, writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { compareBuilds } from '../../src/inference/worker/tasks/verify.ts'
import { quantizeOutputs } from '../../models/blocks/quantize.ts'
import { parseConfig } from '../../models/checkpoint/config/parse.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { expectedTensors } from '../../models/checkpoint/rename.ts'
import { inspectModel } from '../../models/inspect.ts'
import type { Dtype } from '../../models/manifest.ts'
import { ATTRIBUTE, decodeModel, encodeModel, EXTERNAL, type Proto } from '../../models/onnx/proto.ts'
import { f32Safetensors } from '../fixtures/weights.ts'
import { build, CEPE, floats, int64, logitsAt, numbers, randomIds, randomPhi, stepper, temporaryFolder } from './helpers.ts'
import { withoutVnni } from '../helpers/vnni.ts'

await t.test('each output is rounded to 8 bits on its own, in all layouts', (t) => {
  const [heads, ins, outs] = [3, 70, 90]
  const draw = normal(5)
  // Stored [heads*outs, ins]; every output in a size of its own.
  const matrix = Float32Array.from({ length: heads * outs * ins }, (_, i) => draw() * 10 ** (Math.floor(i / ins) % 5))
  const check = (
    stored: (head: number, i: number, out: number) => number,
    { values, scales }: ReturnType<typeof quantizeOutputs>,
  ): boolean => {
    const numbers = new Int8Array(values.buffer)
    for (let head = 0; head < heads; head++) {
      for (let out = 0; out < outs; out++) {
        const scale = scales[head * outs + out] as number
        for (let i = 0; i < ins; i++) {
          const back = scale * (numbers[(head * ins + i) * outs + out] as number)
          if (!(Math.abs(back - stored(head, i, out)) <= scale * 0.5001)) return false
        }
      }
    }
    return true
  }
  t.ok(check((head, i, out) => matrix[(head * outs + out) * ins + i] as number, quantizeOutputs(matrix, { heads, ins, outs })))
  t.ok(
    check(
      (head, i, out) => matrix[(head * ins + i) * outs + out] as number,
      quantizeOutputs(matrix, { heads, ins, outs, transposed: true }),
    ),
  )
  const { values, scales } = quantizeOutputs(new Float32Array(6), { heads: 1, ins: 3, outs: 2 })
  t.same([...values, ...scales], [0, 0, 0, 0, 0, 0, 0, 0], 'zeros stay zeros')
  t.end()
})

const folder = temporaryFolder(t)
const checkpointDir = await writeSyntheticCheckpoint(join(folder, 'cepe'), CEPE, { seed: 11, deviation: 0.15 })
const float = await build(t, { checkpointDir, dtype: 'f32' })

/** Root mean square of a - b over that of b. */
function relative(a: Float32Array, b: Float32Array): number {
  return Math.hypot(...a.map((value, i) => value - (b[i] ?? Number.NaN))) / Math.hypot(...b)
}

const near = 'int8 and int8+int4 stay near f32: logits of few and many tokens, with and without contexts, and states'
await t.test(near, { skip: withoutVnni }, async (t) => {
  for (const dtype of ['int8', 'int8+int4'] as const) {
    const model = await build(t, { checkpointDir, dtype })
    for (const [length, rows] of [
      [1, 9],
      [20, 9],
      [200, 9],
      [20, 0],
      [200, 0],
    ] as const) {
      const prompt = randomIds(length, length)
      const phi = randomPhi(rows, 32, 12)
      const of = async ({ graph, manifest }: typeof model) => floats(await stepper(await graph('cepe_step'), manifest, phi)([prompt]))
      t.ok(relative(await of(model), await of(float)) < 0.05, `${dtype}, ${length} tokens, ${rows} rows`)
    }
    const feeds = { input_ids: int64(randomIds(12, 4), [2, 6]), attention_mask: int64([1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0], [2, 6]) }
    const states = async ({ graph }: typeof model) => floats((await (await graph('cepe_encoder'))(feeds))['phi'])
    t.ok(relative(await states(model), await states(float)) < 0.03, `${dtype} states`)
  }
})

await t.test('int8: generate makes the tokens of the step graph', async (t) => {
  const { graph, manifest } = await build(t, { checkpointDir, dtype: 'int8' })
  for (const [length, rows] of [
    [1, 0],
    [7, 9],
    [120, 9],
  ] as const) {
    const prompt = randomIds(length, length)
    const phi = randomPhi(rows, 32, 3)
    const out = await (
      await graph('cepe_generate')
    )({
      input_ids: int64(prompt, [1, length]),
      phi,
      stop_ids: int64([]),
      max_new_tokens: int64([6], []),
    })
    const step = stepper(await graph('cepe_step'), manifest, phi)
    let logits = await step([prompt])
    for (const token of numbers(out['tokens'])) {
      const row = logitsAt(logits, 0, (logits.dims[1] ?? 0) - 1)
      t.ok(Math.max(...row) - (row[token] ?? Number.NaN) < 0.05, `${length} tokens, ${rows} rows`)
      logits = await step([[token]])
    }
  }
})

await t.test('int8+int4 reads prompts in 8 bits and makes tokens in 4', async (t) => {
  const operators = async (dtype: Dtype) => {
    const { dir } = await build(t, { checkpointDir, dtype })
    const [, operators = ''] = /cepe_generate\.onnx: .*?operators: (.*?)\n/s.exec(await inspectModel(dir)) ?? []
    const count = (op: string): number => Number(new RegExp(`${op} (\\d+)`).exec(operators)?.[1] ?? 0)
    return { blocks: count('MatMulNBits'), rows: count('MatMulIntegerToFloat') }
  }
  const [eight, mixed, four] = [await operators('int8'), await operators('int8+int4'), await operators('int4')]
  t.equal(eight.blocks, 0)
  t.equal(2 * (mixed.blocks + 1), four.blocks, 'half of the 4-bit products, and no output layer in blocks')
  t.ok(mixed.rows > four.rows && mixed.rows < eight.rows)
})

/** Wide enough for outliers to stand out as they do in LLaMA-2. */
const PLANTED = {
  ...CEPE,
  hidden_size: 256,
  intermediate_size: 384,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  encoder_hidden_size: 64,
  encoder_config: { ...CEPE.encoder_config, hidden_size: 64, num_attention_heads: 4, intermediate_size: 96 },
}
const OUTLIER_TOKEN = 3
const OUTLIER_CHANNELS = [7, 130]

/**
 * Random weights, but: two channels of the stream are 20 times larger than the others for every token; and one token is
 * almost nothing but another channel, which the MLP's gates read strongly, so that its inner activations are some
 * thousand times those of other tokens. Both are known of LLaMA-2's residual stream and MLPs.
 */
function plantedCheckpoint(dir: string): string {
  const draw = normal(21)
  const tensors = [...expectedTensors(parseConfig(PLANTED))].map(([name, shape]) => {
    const norm = name.includes('norm')
    const values = Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (norm ? 1 + 0.1 * draw() : 0.06 * draw()))
    return [name, { shape: [...shape], values }] as const
  })
  const of = new Map(tensors)
  const decoder = of.get('model.embed_tokens.weight')
  for (let id = 0; decoder && id < PLANTED.vocab_size; id++) {
    for (const channel of OUTLIER_CHANNELS) decoder.values[id * 256 + channel] = 20 * 0.06 * (1 + 0.3 * draw())
    if (id === OUTLIER_TOKEN) decoder.values[id * 256 + 40] = 60
  }
  for (const [name, { values }] of tensors) {
    if (/^model\..*(input_layernorm|attention_layernorm|cross_attn\.layernorm)/.test(name))
      for (const channel of OUTLIER_CHANNELS) values[channel] = 0.3
    if (/^model\.layers.*(gate|up)_proj/.test(name)) for (let out = 0; out < 384; out++) values[out * 256 + 40] = draw()
  }
  mkdirSync(dir)
  writeFileSync(join(dir, 'config.json'), JSON.stringify(PLANTED))
  writeFileSync(join(dir, 'model.safetensors'), f32Safetensors(Object.fromEntries(tensors)))
  return dir
}

/** Makes a built graph take one scale for all rows of an activation, as DynamicQuantizeMatMul does. */
function useOneScale(file: string): number {
  const model = decodeModel(readFileSync(file))
  let changed = 0
  const visit = (graph: Proto<'GraphProto'>, inBranch = false): void => {
    for (const node of graph.node) {
      node.attribute = node.attribute.map(({ name, type, i, f, s, g, ints }) => ({
        name,
        type,
        ...(type === ATTRIBUTE.int && { i }),
        ...(type === ATTRIBUTE.float && { f }),
        ...(type === ATTRIBUTE.string && { s }),
        ...(type === ATTRIBUTE.ints && { ints }),
        ...(type === ATTRIBUTE.graph && { g }),
      }))
      for (const { g } of node.attribute) if (g) visit(g, true)
      // Branches hold the absorbed form, whose rows are counted when the graph is built.
      if (inBranch || node.op_type !== 'ReduceMax' || !/\/int8(_\d+)?\//.test(node.name)) continue
      node.input[1] = 'all_axes'
      changed++
    }
  }
  visit(model.graph)
  // What was read has every field, set or not.
  for (const tensor of model.graph.initializer) if (tensor.data_location === EXTERNAL) delete tensor.raw_data
  model.graph.initializer.push({ name: 'all_axes', data_type: 7, dims: [2], raw_data: new Uint8Array(BigInt64Array.of(0n, 1n).buffer) })
  writeFileSync(file, encodeModel(model))
  return changed
}

await t.test('planted outlier tokens and channels: one scale for everything fails, a scale for each row does not', async (t: Test) => {
  const dir = plantedCheckpoint(join(folder, 'planted'))
  const exact = await build(t, { checkpointDir: dir, dtype: 'f32' })
  const shipped = await build(t, { checkpointDir: dir, dtype: 'int8' })
  const four = await build(t, { checkpointDir: dir, dtype: 'int4', int4: { blockSize: 32, lmHead: 'int8' } })
  const single = await build(t, { checkpointDir: dir, dtype: 'int8' })
  const altered = join(single.dir, 'cepe_step.onnx')
  t.ok(useOneScale(altered) > 5)
  const bytes = readFileSync(altered)
  const own = { name: 'cepe_step.onnx', bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  const files = single.manifest.files.map((file) => (file.name === own.name ? own : file))
  writeFileSync(join(single.dir, 'manifest.json'), JSON.stringify({ ...single.manifest, files }))
  const samples = Array.from({ length: 6 }, (_, i) => ({
    contexts: [randomIds(20, 300 + i), randomIds(20, 400 + i)],
    prompt: [OUTLIER_TOKEN, ...randomIds(30, 500 + i).filter((id) => id !== OUTLIER_TOKEN)],
  }))
  const distance = async (of: typeof exact) => {
    const found = await compareBuilds(of.dir, exact.dir, samples)
    if (found.kind !== 'reader') throw new Error('a reader is needed')
    return found
  }
  const [rows, one, blocks] = [await distance(shipped), await distance(single), await distance(four)]
  t.comment(`KL: a scale for each row ${rows.meanKl}, one scale ${one.meanKl}, int4 ${blocks.meanKl}`)
  t.comment(`same choice: ${rows.sameChoice}, ${one.sameChoice}, ${blocks.sameChoice}`)
  t.ok(rows.meanKl < blocks.meanKl, 'nearer to f32 than 4 bits')
  t.ok(one.meanKl > 20 * rows.meanKl)
})

await t.test('the checkpoint stays readable while its matrices are taken in two forms', async (t) => {
  const checkpoint = await openCheckpoint(checkpointDir)
  const eight = await build(t, { checkpointDir, dtype: 'int8' })
  const weights = eight.manifest.files.find(({ name }) => name === 'weights.bin')?.bytes ?? Infinity
  const all = [...checkpoint.tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  t.ok(weights < 0.55 * all, `${weights} of ${all}`)
})
