import t from 'tap'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildModel } from '../../models/build.ts'
import type { Checkpoint } from '../../models/checkpoint/checkpoint.ts'
import { checkTensors } from '../../models/checkpoint/rename.ts'
import { inspectCheckpoint } from '../../models/inspect.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { readF32 } from '../../models/checkpoint/weights.ts'
import { loadCepeManifest } from '../../models/folder.ts'
import { emptyCache, floatsOf, int64, ones, openModel, output } from '../helpers/open-model.ts'
import { type F32Tensor, f32Safetensors } from '../fixtures/weights.ts'
import { writeFolder } from '../fixtures/checkpoint-folder.ts'
import { f32Gguf } from '../helpers/gguf.ts'
import { temporaryFolder } from './helpers.ts'

const BASE = 'test/fixtures/gguf/llama.gguf'
const RANK = 2
const FACTOR = 0.5

type Tensors = Readonly<Record<string, F32Tensor>>

/** Values whose sums and products are exact in float32. */
function matrix(rows: number, columns: number, seed: number): F32Tensor {
  return { shape: [rows, columns], values: Array.from({ length: rows * columns }, (_, i) => (((i + 1) * seed) % 17) / 256 - 1 / 32) }
}

async function decoderOf(): Promise<Checkpoint & { readonly width: number; readonly layers: number; readonly keyed: number }> {
  const base = await openCheckpoint(BASE)
  if (base.config.architecture !== 'cepe') throw new Error('the fixture is a decoder')
  const { hiddenSize: width, layers, kvHeads, headDim } = base.config.decoder
  return { ...base, width, layers, keyed: kvHeads * headDim }
}

/** What was learned: an adapter of one encoder matrix, the encoder's norm, and cross-attention in every layer. */
function learned(width: number, keyed: number, layers: number): Tensors {
  const query = 'encoder.layers.0.self_attn.q_proj'
  const parts: Record<string, F32Tensor> = {
    [`${query}.lora_a`]: matrix(RANK, width, 3),
    [`${query}.lora_b`]: matrix(RANK, width, 5),
    'encoder.norm.weight': { shape: [width], values: Array.from({ length: width }, () => 1) },
  }
  for (let layer = 0; layer < layers; layer++) {
    const at = `model.layers.${layer}.cross_attn`
    parts[`${at}.layernorm.weight`] = { shape: [width], values: Array.from({ length: width }, () => 1) }
    for (const [name, rows] of Object.entries({ q_proj: width, k_proj: keyed, v_proj: keyed, o_proj: width }))
      parts[`${at}.${name}.weight`] = matrix(rows, width, 7 + layer)
  }
  return parts
}

const CEPE = { file: 'cepe.gguf', encoder_layers: 1, encoder_window: 64, lora_factor: FACTOR }

function composed(dir: string, config: object, parts: Tensors): string {
  const folder = writeFolder(dir, { 'config.json': { base_model: 'base.gguf', ...config }, 'cepe.gguf': f32Gguf(parts) })
  cpSync(BASE, join(folder, 'base.gguf'))
  return folder
}

await t.test('an encoder is the decoder with its adapter, and shares what has none', async (t) => {
  const base = await decoderOf()
  const parts = learned(base.width, base.keyed, base.layers)
  const checkpoint = await openCheckpoint(composed(join(temporaryFolder(t), 'reader'), { cepe: CEPE, base_revision: base.revision }, parts))
  t.same(checkTensors(checkpoint).unexpected, [])
  t.equal(checkpoint.name, 'reader')

  const name = 'encoder.layers.0.self_attn.q_proj'
  const [a, b] = [parts[`${name}.lora_a`]?.values ?? [], parts[`${name}.lora_b`]?.values ?? []]
  const own = await readF32(base, 'model.layers.0.self_attn.q_proj.weight')
  const expected = own.map((value, at) => {
    const [out, ins] = [Math.floor(at / base.width), at % base.width]
    const products = Array.from({ length: RANK }, (_, k) => (b[k * base.width + out] ?? 0) * (a[k * base.width + ins] ?? 0))
    return value + FACTOR * products.reduce((x, y) => x + y, 0)
  })
  t.same(await readF32(checkpoint, `${name}.weight`), expected)
  t.same(await readF32(checkpoint, 'encoder.layers.0.mlp.up_proj.weight'), await readF32(base, 'model.layers.0.mlp.up_proj.weight'))
  t.equal(checkpoint.tensors.get('encoder.embed_tokens.weight')?.name, 'model.embed_tokens.weight', 'one table for both')
  const cross = 'model.layers.1.cross_attn.k_proj.weight'
  t.same([...(await readF32(checkpoint, cross))], parts[cross]?.values)
})

/** Logits of a prompt beside one encoded passage. */
async function logitsOf(dir: string): Promise<Float32Array> {
  const model = await openModel(dir)
  const manifest = await loadCepeManifest(dir)
  const ids = (values: readonly bigint[]) => int64(BigInt64Array.from(values), [1, values.length])
  try {
    const passage = { input_ids: ids([5n, 6n, 7n, 8n]), attention_mask: int64(ones(4), [1, 4]) }
    const phi = output(await model.run(manifest.graphs.encoder ?? '', passage), 'phi')
    const inputs = { input_ids: ids([9n, 10n, 11n]), attention_mask: int64(ones(3), [1, 3]), phi, ...emptyCache(manifest, 1) }
    return floatsOf(output(await model.run(manifest.graphs.step, inputs), 'logits')).slice()
  } finally {
    await model[Symbol.asyncDispose]()
  }
}

/** Encoder states [tokens,d] of one passage, with padding beside it. */
async function statesOf(dir: string, passage: readonly bigint[], padding: { readonly left: number; readonly right: number }) {
  const model = await openModel(dir)
  const manifest = await loadCepeManifest(dir)
  const padded = (value: bigint, values: readonly bigint[]): BigInt64Array =>
    BigInt64Array.from([
      ...Array.from({ length: padding.left }, () => value),
      ...values,
      ...Array.from({ length: padding.right }, () => value),
    ])
  const shape = [1, padding.left + passage.length + padding.right]
  const ids = int64(padded(3n, passage), shape)
  const mask = int64(
    padded(
      0n,
      passage.map(() => 1n),
    ),
    shape,
  )
  try {
    return floatsOf(output(await model.run(manifest.graphs.encoder ?? '', { input_ids: ids, attention_mask: mask }), 'phi')).slice()
  } finally {
    await model[Symbol.asyncDispose]()
  }
}

await t.test('a causal encoder gives a token the same states whatever follows; a bidirectional one does not', async (t) => {
  const dir = temporaryFolder(t)
  const base = await decoderOf()
  const parts = learned(base.width, base.keyed, base.layers)
  const distances: number[] = []
  for (const causal of [true, false]) {
    const built = join(dir, `built-${causal}`)
    const checkpointDir = composed(join(dir, `reader-${causal}`), { cepe: { ...CEPE, causal } }, parts)
    await buildModel({ checkpointDir, outDir: built, dtype: 'f32' })
    const whole = await statesOf(built, [5n, 6n, 7n, 8n], { left: 0, right: 0 })
    const begun = await statesOf(built, [5n, 6n], { left: 2, right: 1 })
    distances.push(Math.max(...begun.map((value, at) => Math.abs(value - (whole[at] ?? NaN)))))
  }
  const [causal = NaN, open = NaN] = distances
  t.ok(causal < 1e-5, `causal: ${causal}`)
  t.ok(open > 1e-3, `bidirectional: ${open}`)
})

/** Factors from 1/8 to 8 for every divided module of the decoder and of the encoder's one layer. */
function smoothing({ width, keyed, layers }: Awaited<ReturnType<typeof decoderOf>>, inner: number): Tensors {
  const sizes = { input_layernorm: width, post_attention_layernorm: width, 'self_attn.v_proj': keyed, 'mlp.up_proj': inner }
  const parts = ['encoder.layers.0', ...Array.from({ length: layers }, (_, layer) => `model.layers.${layer}`)]
  const vector = (size: number, seed: number): F32Tensor => ({
    shape: [size],
    values: Array.from({ length: size }, (_, i) => 2 ** (((i * seed) % 7) - 3)),
  })
  return Object.fromEntries(
    parts.flatMap((part, at) =>
      Object.entries(sizes).map(([module, size]) => [`${part}.${module}.smoothing`, vector(size, 3 + at)] as const),
    ),
  )
}

await t.test('smoothing changes the weights, and nothing that the model computes', async (t) => {
  const dir = temporaryFolder(t)
  const base = await decoderOf()
  if (base.config.architecture !== 'cepe') throw new Error('a decoder')
  const factors = smoothing(base, base.config.decoder.intermediateSize)
  const attempt = (name: string, tensors?: Tensors): string => {
    const folder = composed(
      join(dir, name),
      { cepe: CEPE, ...(tensors && { smoothing: 'factors.safetensors' }) },
      learned(base.width, base.keyed, base.layers),
    )
    if (tensors) writeFileSync(join(folder, 'factors.safetensors'), f32Safetensors(tensors))
    return folder
  }
  const [plain, smooth] = [await openCheckpoint(attempt('plain')), await openCheckpoint(attempt('smooth', factors))]
  t.not(plain.revision, smooth.revision)
  for (const part of ['model', 'encoder'])
    for (const module of ['input_layernorm', 'self_attn.q_proj', 'self_attn.v_proj', 'self_attn.o_proj', 'mlp.up_proj', 'mlp.down_proj']) {
      const name = `${part}.layers.0.${module}.weight`
      const [changed, before] = [await readF32(smooth, name), await readF32(plain, name)]
      t.ok(
        changed.some((value, at) => value !== before[at]),
        name,
      )
    }

  const read: { readonly logits: Float32Array; readonly states: Float32Array }[] = []
  for (const name of ['plain', 'smooth']) {
    const built = join(dir, `built-${name}`)
    await buildModel({ checkpointDir: join(dir, name), outDir: built, dtype: 'f32' })
    read.push({ logits: await logitsOf(built), states: await statesOf(built, [5n, 6n, 7n], { left: 0, right: 0 }) })
  }
  const [one, other] = read
  for (const part of ['logits', 'states'] as const) {
    const expected = one?.[part] ?? new Float32Array()
    const largest = Math.max(...expected.map(Math.abs))
    const apart = Math.max(...expected.map((value, at) => Math.abs(value - (other?.[part][at] ?? NaN))))
    t.ok(apart < 1e-5 * largest, `${part}: ${apart} of ${largest}`)
  }

  const refused = (name: string, changed: Tensors, message: RegExp) =>
    t.rejects(openCheckpoint(attempt(name, changed)), { code: 'checkpoint_invalid', message })
  const norm = 'model.layers.0.input_layernorm.smoothing'
  const unscaled = (size: number): F32Tensor => ({ shape: [size], values: Array.from({ length: size }, () => 1) })
  await refused('layer', { 'model.layers.9.input_layernorm.smoothing': unscaled(base.width) }, /belongs to no layer/)
  await refused('module', { 'model.layers.0.self_attn.q_proj.smoothing': unscaled(base.width) }, /q_proj\.smoothing/)
  await refused('matrix', { [norm]: { shape: [1, base.width], values: unscaled(base.width).values } }, /no vector/)
  await refused('short', { [norm]: unscaled(base.width - 1) }, /factors where/)
  await refused('zero', { [norm]: { shape: [base.width], values: [0, ...unscaled(base.width - 1).values] } }, /not positive/)
  const absent = attempt('absent', factors)
  rmSync(join(absent, 'factors.safetensors'))
  await t.rejects(openCheckpoint(absent), { code: 'checkpoint_invalid', message: /factors\.safetensors is missing/ })
})

await t.test('it is built as the same weights in one file would be', async (t) => {
  const dir = temporaryFolder(t)
  const base = await decoderOf()
  const folder = composed(join(dir, 'reader'), { cepe: CEPE }, learned(base.width, base.keyed, base.layers))
  const checkpoint = await openCheckpoint(folder)
  const flat: Record<string, F32Tensor> = {}
  for (const [name, { shape }] of checkpoint.tensors) flat[name] = { shape, values: [...(await readF32(checkpoint, name))] }
  if (checkpoint.config.architecture !== 'cepe') throw new Error('a reader')
  const { decoder, encoder } = checkpoint.config
  const llama = (config: typeof decoder) => ({
    ...{ vocab_size: config.vocabSize, hidden_size: config.hiddenSize, intermediate_size: config.intermediateSize },
    ...{ num_hidden_layers: config.layers, num_attention_heads: config.heads, num_key_value_heads: config.kvHeads },
    ...{ head_dim: config.headDim, max_position_embeddings: config.window, rms_norm_eps: config.rmsNormEps },
    ...{ rope_theta: config.ropeTheta, hidden_act: 'silu', tie_word_embeddings: config.tieWordEmbeddings },
    ...{ bos_token_id: 1, eos_token_id: 2, pad_token_id: -1 },
  })
  if (encoder === null) throw new Error('a reader with an encoder')
  const config = {
    ...llama(decoder),
    architectures: ['LlamaForCausalContextLM'],
    ...{ do_cross_attention: true, num_cross_attn_layers: decoder.layers, num_cross_attn_hidden_states: 1, encode_mode: 'context_only' },
    encoder_hidden_size: encoder.hiddenSize,
    encoder_config: { ...llama(encoder), architectures: ['LlamaForMLM'] },
  }
  const whole = writeFolder(join(dir, 'whole'), { 'config.json': config, 'model.safetensors': f32Safetensors(flat) })
  for (const dtype of ['f32', 'int8-blocks'] as const) {
    const [one, other] = [join(dir, `a-${dtype}`), join(dir, `b-${dtype}`)]
    await buildModel({ checkpointDir: folder, outDir: one, dtype })
    await buildModel({ checkpointDir: whole, outDir: other, dtype })
    const manifest = await loadCepeManifest(one)
    t.equal(manifest.dims.encoder_layers, 1)
    t.equal(manifest.dims.cross_attention_layers, decoder.layers)
    t.same(await logitsOf(one), await logitsOf(other), dtype)
  }
})

await t.test('a part that does not belong is refused by name', async (t) => {
  const dir = temporaryFolder(t)
  const base = await decoderOf()
  const parts = learned(base.width, base.keyed, base.layers)
  const attempt = (name: string, config: object, tensors: Tensors = parts) => openCheckpoint(composed(join(dir, name), config, tensors))
  await t.rejects(attempt('base', { base_revision: '0'.repeat(64) }), { code: 'checkpoint_invalid', field: 'base_revision' })
  await t.rejects(attempt('path', { base_model: '../base.gguf' }), { code: 'checkpoint_invalid', field: 'base_model' })
  await t.rejects(attempt('field', { cepe: CEPE, encoder: 1 }), { code: 'checkpoint_invalid' })
  await t.rejects(attempt('layers', { cepe: { ...CEPE, encoder_layers: 99 } }), { code: 'checkpoint_invalid', field: 'encoder_layers' })
  await t.rejects(attempt('adapter', { adapters: ['missing'] }), { code: 'checkpoint_invalid' })
  const { 'encoder.layers.0.self_attn.q_proj.lora_b': _, ...half } = parts
  await t.rejects(attempt('half', { cepe: CEPE }, half), { code: 'checkpoint_invalid', message: /lora_a and lora_b/ })
  const elsewhere = {
    ...parts,
    'encoder.layers.7.self_attn.q_proj.lora_a': matrix(RANK, base.width, 3),
    'encoder.layers.7.self_attn.q_proj.lora_b': matrix(RANK, base.width, 3),
  }
  await t.rejects(attempt('elsewhere', { cepe: CEPE }, elsewhere), {
    code: 'checkpoint_invalid',
    message: /has no tensor encoder\.layers\.7\.self_attn\.q_proj/,
  })
  const folder = composed(join(dir, 'cut'), { cepe: CEPE }, parts)
  writeFileSync(join(folder, 'cepe.gguf'), readFileSync(join(folder, 'cepe.gguf')).subarray(0, 4000))
  await t.rejects(openCheckpoint(folder), { code: 'checkpoint_invalid', message: /truncated/ })
})

await t.test('it is shown with its parts, or with what keeps it from being built', async (t) => {
  const dir = temporaryFolder(t)
  const base = await decoderOf()
  const parts = learned(base.width, base.keyed, base.layers)
  const shown = await inspectCheckpoint(composed(join(dir, 'reader'), { cepe: CEPE }, parts))
  t.match(shown, /^reader: cepe checkpoint \(gguf\).*\ncepe build can build it; revision [0-9a-f]{64}\ndecoder: .*\nencoder: 1 layers/)
  t.match(shown, `cross-attention in the last ${base.layers} layers`)
  const lacking = Object.fromEntries(Object.entries(parts).filter(([name]) => name !== 'encoder.norm.weight'))
  t.match(await inspectCheckpoint(composed(join(dir, 'lacking'), { cepe: CEPE }, lacking)), /cannot build it: .*encoder\.norm\.weight/)
  t.match(await inspectCheckpoint('models/tiny/checkpoint/contriever'), /contriever checkpoint \(safetensors\).*can build it/s)
})
