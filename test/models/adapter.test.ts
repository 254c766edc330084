import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withAdapters } from '../../models/adapter/merge.ts'
import { openAdapter } from '../../models/adapter/open.ts'
import { buildModel } from '../../models/build.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { readF32 } from '../../models/checkpoint/weights.ts'
import { modelId, type ModelManifest } from '../../models/manifest.ts'
import { chooseCalibration } from '../../src/rag/calibration.ts'
import { wordTokenizer } from '../fixtures/built-fixture.ts'
import { LLAMA_CONFIG, weightsFor, writeFolder } from '../fixtures/checkpoint-folder.ts'
import { runCli } from '../helpers/cli.ts'
import { root } from '../helpers/root.ts'
import { f32Safetensors, type F32Tensor } from '../fixtures/weights.ts'
import { temporaryFolder } from './helpers.ts'

/** Heads of 16, the least that is built. */
const CONFIG = { ...LLAMA_CONFIG, hidden_size: 32, tie_word_embeddings: true }
const RANK = 2
const SETTINGS = { peft_type: 'LORA', r: RANK, lora_alpha: 4, target_modules: ['q_proj', 'down_proj'], bias: 'none', modules_to_save: null }
const QUERY = 'model.layers.0.self_attn.q_proj'
const DOWN = 'model.layers.1.mlp.down_proj'
type Tensors = Record<string, F32Tensor>

/** Values whose sums and products are exact in float32. */
function matrix(rows: number, columns: number, seed: number): F32Tensor {
  return { shape: [rows, columns], values: Array.from({ length: rows * columns }, (_, i) => (((i + 1) * seed) % 17) / 16 - 0.5) }
}

function pair(module: string, [outs, ins]: readonly [number, number], seed: number, rank = RANK): Tensors {
  return {
    [`base_model.model.${module}.lora_A.weight`]: matrix(rank, ins, seed),
    [`base_model.model.${module}.lora_B.weight`]: matrix(outs, rank, seed + 2),
  }
}

const PAIRS = { ...pair(QUERY, [32, 32], 3), ...pair(DOWN, [32, 6], 5) }

/** W + factor B A, written as its definition. */
function mergedWeights(weights: Tensors, pairs: Tensors, factorOf: (module: string) => number): Tensors {
  const entries = Object.entries(weights).map(([name, { shape, values }]) => {
    const module = name.replace(/\.weight$/, '')
    const [a, b] = ['A', 'B'].map((part) => pairs[`base_model.model.${module}.lora_${part}.weight`])
    if (!a || !b) return [name, { shape, values }] as const
    const [rank = 0, ins = 0] = a.shape
    const product = (at: number): number => {
      const [out, i] = [Math.floor(at / ins), at % ins]
      return Array.from({ length: rank }, (_, k) => (b.values[out * rank + k] ?? 0) * (a.values[k * ins + i] ?? 0)).reduce(
        (x, y) => x + y,
        0,
      )
    }
    return [name, { shape, values: values.map((value, at) => value + factorOf(module) * product(at)) }] as const
  })
  return Object.fromEntries(entries)
}

const WEIGHTS = weightsFor(CONFIG)
function base(folder: string, weights: Tensors = WEIGHTS): string {
  return writeFolder(folder, { 'config.json': CONFIG, 'model.safetensors': f32Safetensors(weights) })
}
function adapter(folder: string, settings: object = SETTINGS, pairs: Tensors = PAIRS): string {
  return writeFolder(folder, { 'adapter_config.json': settings, 'adapter_model.safetensors': f32Safetensors(pairs) })
}
function weightsHash({ files }: ModelManifest): string | undefined {
  return files.find(({ name }) => name === 'weights.bin')?.sha256
}

t.test('an adapter is merged as if the base had been saved so', async (t) => {
  const dir = temporaryFolder(t)
  const checkpointDir = base(join(dir, 'base'))
  const [first, second] = [adapter(join(dir, 'first')), adapter(join(dir, 'second'), SETTINGS, pair(QUERY, [32, 32], 7))]
  const once = mergedWeights(WEIGHTS, PAIRS, () => 2)
  const twice = mergedWeights(once, pair(QUERY, [32, 32], 7), () => 2)
  for (const dtype of ['f32', 'int8'] as const) {
    const built = await buildModel({ checkpointDir, adapters: [first, second], outDir: join(dir, `a-${dtype}`), dtype })
    const same = await buildModel({ checkpointDir: base(join(dir, 'merged'), twice), outDir: join(dir, `b-${dtype}`), dtype })
    t.equal(weightsHash(built), weightsHash(same), dtype)
    t.match(modelId(built), /^base\+first\+second@/)
  }
  const plain = await buildModel({ checkpointDir, outDir: join(dir, 'plain'), dtype: 'f32' })
  const adapted = await buildModel({ checkpointDir, adapters: [first], outDir: join(dir, 'adapted'), dtype: 'f32', inPlace: true })
  t.not(adapted.source.revision, plain.source.revision)
})

t.test('ranks and factors follow the settings, and one matrix is read at a time', async (t) => {
  const dir = temporaryFolder(t)
  const settings = { ...SETTINGS, r: 16, use_rslora: true, rank_pattern: { down_proj: 4 }, alpha_pattern: { [DOWN]: 1 } }
  const pairs = { ...pair(QUERY, [32, 32], 3, 16), ...pair(DOWN, [32, 6], 5, 4) }
  const checkpoint = await withAdapters(await openCheckpoint(base(join(dir, 'base'))), [adapter(join(dir, 'adapter'), settings, pairs)])
  const expected = mergedWeights(WEIGHTS, pairs, (module) => (module === DOWN ? 0.5 : 1))
  for (const name of [`${QUERY}.weight`, `${DOWN}.weight`, 'model.norm.weight', `${QUERY}.weight`])
    t.same([...(await readF32(checkpoint, name))], Float32Array.from(expected[name]?.values ?? []), name)
})

t.test('an adapter that cannot be merged is refused by name, and nothing is left behind', async (t) => {
  const dir = temporaryFolder(t)
  const checkpointDir = base(join(dir, 'base'))
  const cases: readonly (readonly [string, object, Tensors, RegExp])[] = [
    ['another kind', { ...SETTINGS, peft_type: 'IA3' }, PAIRS, /peft_type is "IA3".*merge it with PEFT/],
    ['DoRA', { ...SETTINGS, use_dora: true }, PAIRS, /use_dora is true/],
    ['biases', { ...SETTINGS, bias: 'all' }, PAIRS, /bias is "all"/],
    ['whole modules', { ...SETTINGS, modules_to_save: ['lm_head'] }, PAIRS, /modules_to_save is \["lm_head"\]/],
    ['a changed base', { ...SETTINGS, init_lora_weights: 'pissa' }, PAIRS, /init_lora_weights is "pissa"/],
    ['a base changed in a way that is not known', { ...SETTINGS, init_lora_weights: 'lora_ga' }, PAIRS, /init_lora_weights is "lora_ga"/],
    ['a variant that is not known', { ...SETTINGS, use_qalora: true }, PAIRS, /use_qalora is true/],
    ['activation by tokens', { ...SETTINGS, alora_invocation_tokens: [7] }, PAIRS, /alora_invocation_tokens is \[7\]/],
    ['no rank', { ...SETTINGS, r: 0 }, PAIRS, /adapter_config\.json: r /],
    ['a pattern', { ...SETTINGS, rank_pattern: { '(a+)+': 2 } }, PAIRS, /rank_pattern is "\(a\+\)\+"/],
    ['another rank', { ...SETTINGS, r: 8 }, PAIRS, /lora_A \[2, 32\].*says rank 8.*save the adapter again/],
    ['half a pair', SETTINGS, { [`base_model.model.${QUERY}.lora_A.weight`]: matrix(RANK, 32, 3) }, /has no lora_B/],
    ['a foreign tensor', SETTINGS, { ...PAIRS, [`${QUERY}.bias`]: matrix(1, 8, 3) }, /is neither lora_A nor lora_B/],
    ['no tensors', SETTINGS, {}, /holds no tensors/],
    ['another width', SETTINGS, pair(QUERY, [16, 16], 3), /of another base: its .*q_proj\.weight is \[16, 16\], that of base \[32, 32\]/],
    ['another depth', SETTINGS, pair('model.layers.9.self_attn.q_proj', [32, 32], 3), /base has no tensor model\.layers\.9/],
  ]
  for (const [name, settings, pairs, message] of cases) {
    const adapters = [adapter(join(dir, 'adapters', name), settings, pairs)]
    const failed = buildModel({ checkpointDir, adapters, outDir: join(dir, 'out', 'model'), dtype: 'f32' })
    await t.rejects(failed, { code: /^(checkpoint_invalid|unsupported)$/, message }, name)
  }
  await t.rejects(buildModel({ checkpointDir, adapters: [checkpointDir], outDir: join(dir, 'out', 'model'), dtype: 'f32' }), {
    code: 'checkpoint_invalid',
    message: /has no adapter_config\.json/,
  })
  const unfinished = adapter(join(dir, 'adapters', 'unfinished'))
  rmSync(join(unfinished, 'adapter_model.safetensors'))
  await t.rejects(buildModel({ checkpointDir, adapters: [unfinished], outDir: join(dir, 'out', 'model'), dtype: 'f32' }), {
    code: 'checkpoint_invalid',
    message: /adapter_model\.safetensors is missing; download it again/,
  })
  t.same(readdirSync(dir).sort(), ['adapters', 'base'])
})

t.test('cepe build --adapter merges and says what was built', async (t) => {
  const dir = temporaryFolder(t)
  const args = ['build', base(join(dir, 'base')), '--adapter', adapter(join(dir, 'tuned')), '--out', join(dir, 'model')]
  const { code, stdout } = await runCli(args)
  t.equal(code, 0)
  t.match(stdout, /base\+tuned@/)
  const foreign = adapter(join(dir, 'foreign'), SETTINGS, pair(QUERY, [16, 16], 3))
  const refused = await runCli(['build', join(dir, 'base'), '--adapter', foreign, '--out', join(dir, 'none')])
  t.not(refused.code, 0)
  t.match(refused.stderr, /the adapter foreign is of another base/)
})

t.test('an adapter with qa_config.json is asked as it was trained: by its protocol, without the chat template', async (t) => {
  const dir = temporaryFolder(t)
  const protocol = { k: 3, k_decoder: 1, demonstrations: 0, context_tokens: 64, max_new_tokens: 9, mode: 'map-rerank' }
  const checkpointDir = writeFolder(base(join(dir, 'base')), {
    'tokenizer.json': wordTokenizer(CONFIG.vocab_size),
    'tokenizer_config.json': { chat_template: '{{ messages[0].content }}', add_bos_token: false },
  })
  const plain = await buildModel({ checkpointDir, adapters: [adapter(join(dir, 'plain'))], outDir: join(dir, 'a'), dtype: 'f32' })
  const folder = writeFolder(adapter(join(dir, 'asked')), { 'qa_config.json': protocol })
  const asked = await buildModel({ checkpointDir, adapters: [folder], outDir: join(dir, 'b'), dtype: 'f32' })
  t.strictSame(
    [plain, asked].map((manifest) => 'qa_defaults' in manifest && manifest.qa_defaults.max_new_tokens),
    [16, 9],
  )
  t.strictSame('qa_defaults' in asked && asked.qa_defaults, protocol)
  const templates = ['a', 'b'].map((name) => 'chat_template' in JSON.parse(readFileSync(join(dir, name, 'tokenizer_config.json'), 'utf8')))
  t.strictSame(templates, [true, false])
  writeFolder(folder, { 'qa_config.json': { ...protocol, k: 4 } })
  const other = await buildModel({ checkpointDir, adapters: [folder], outDir: join(dir, 'c'), dtype: 'f32' })
  t.not(other.source.revision, asked.source.revision, 'the id depends on the protocol')
  writeFolder(folder, { 'qa_config.json': { ...protocol, k: -1 } })
  const wrong = buildModel({ checkpointDir, adapters: [folder], outDir: join(dir, 'd'), dtype: 'f32' })
  await t.rejects(wrong, { code: 'checkpoint_invalid', message: /qa_config\.json: k / })
})

t.test('the shipped reading adapters fit their base, and their calibration is of a build with them', async (t) => {
  const folder = join(root, 'models/reader/adapters/qwen2.5-coder-0.5b-instruct')
  const adapter = await openAdapter(folder)
  // Qwen2.5 0.5B: width 896, 14 heads of 64 with 2 key-value heads, MLP 4864, 24 layers.
  const shapes = {
    'self_attn.q_proj': [896, 896],
    'self_attn.k_proj': [896, 128],
    'self_attn.v_proj': [896, 128],
    'self_attn.o_proj': [896, 896],
    'mlp.gate_proj': [896, 4864],
    'mlp.up_proj': [896, 4864],
    'mlp.down_proj': [4864, 896],
  }
  const expected = Array.from({ length: 24 }, (_, layer) =>
    Object.entries(shapes).map(([name, [ins, outs]]) => [`model.layers.${layer}.${name}.weight`, { ins, outs, rank: 16, factor: 2 }]),
  ).flat()
  const found = [...adapter.pairs].map(([name, { ins, outs, rank, factor }]) => [name, { ins, outs, rank, factor }])
  t.same(Object.fromEntries(found), Object.fromEntries(expected))
  t.match(adapter.qaDefaults, { mode: 'map-rerank', k: 5, demonstrations: 0, focus: true })
  const reader = `qwen2.5-coder-0.5b-instruct-q4_k_m+qwen2.5-coder-0.5b-instruct@3e4fe42a1291-int8-blocks-82759576`
  const named = join(folder, 'calibration.json')
  const prompt = { chat_template: 'none', instruction: '', mode: 'map-rerank', demonstrations: 0, focus: true } as const
  t.match(await chooseCalibration({ named, shipped: '' }, { reader, ...prompt }), { reader, prompt })
})
