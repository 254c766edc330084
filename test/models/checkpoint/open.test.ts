import { readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildModel } from '../../../models/build.ts'
import { parseConfig } from '../../../models/checkpoint/config/parse.ts'
import { openCheckpoint } from '../../../models/open-checkpoint.ts'
import { readF32 } from '../../../models/checkpoint/weights.ts'
import { checkTensors, expectedTensors } from '../../../models/checkpoint/rename.ts'
import type { Checkpoint } from '../../../models/checkpoint/checkpoint.ts'
import { CEPE_CONFIG, CONTRIEVER_CONFIG, LLAMA_CONFIG, weightsFor, writeFolder } from '../../fixtures/checkpoint-folder.ts'
import { f32Gguf } from '../../helpers/gguf.ts'
import { f32Safetensors, f32Torch, safetensorsOf, type F32Tensor } from '../../fixtures/weights.ts'

type Weights = Record<string, F32Tensor>
type Files = Parameters<typeof writeFolder>[1]

type Tap = { testdir(): string }

function folderOf(t: Tap, files: Files, name = 'checkpoint'): string {
  return writeFolder(join(t.testdir(), name), files)
}
function openFiles(t: Tap, files: Files): Promise<Checkpoint> {
  return openCheckpoint(folderOf(t, files))
}
function withWeights(config: object, weights: Weights = weightsFor(config)): Files {
  return { 'config.json': config, 'model.safetensors': f32Safetensors(weights) }
}

function halves(weights: Weights): [Weights, Weights] {
  const entries = Object.entries(weights)
  const middle = Math.floor(entries.length / 2)
  return [Object.fromEntries(entries.slice(0, middle)), Object.fromEntries(entries.slice(middle))]
}

function indexOf(shards: Readonly<Record<string, Weights>>): object {
  return {
    metadata: { total_size: 0 },
    weight_map: Object.fromEntries(Object.entries(shards).flatMap(([file, weights]) => Object.keys(weights).map((name) => [name, file]))),
  }
}

async function valuesOf(checkpoint: Checkpoint): Promise<Record<string, number[]>> {
  const values: Record<string, number[]> = {}
  for (const name of [...checkpoint.tensors.keys()].sort()) values[name] = [...(await readF32(checkpoint, name))]
  return values
}

t.test('the same weights read the same from every layout', async (t) => {
  const weights = weightsFor(CEPE_CONFIG)
  const [first, second] = halves(weights)
  const layouts: Record<string, [Checkpoint['format'], Files]> = {
    safetensors: ['safetensors', { 'model.safetensors': f32Safetensors(weights) }],
    'safetensors shards': [
      'safetensors',
      {
        'model-1.safetensors': f32Safetensors(first),
        'model-2.safetensors': f32Safetensors(second),
        'model.safetensors.index.json': indexOf({ 'model-1.safetensors': first, 'model-2.safetensors': second }),
      },
    ],
    torch: ['torch', { 'pytorch_model.bin': f32Torch(weights) }],
    'torch shards': [
      'torch',
      {
        'pytorch_model-1.bin': f32Torch(first),
        'pytorch_model-2.bin': f32Torch(second),
        'pytorch_model.bin.index.json': indexOf({ 'pytorch_model-1.bin': first, 'pytorch_model-2.bin': second }),
      },
    ],
  }
  const expected = Object.fromEntries(
    Object.entries(weights)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { values }]) => [name, values]),
  )
  for (const [layout, [format, files]] of Object.entries(layouts)) {
    const checkpoint = await openCheckpoint(folderOf(t, { 'config.json': CEPE_CONFIG, ...files }, layout))
    t.equal(checkpoint.format, format, layout)
    t.equal(checkpoint.name, layout)
    t.same(checkTensors(checkpoint), { unexpected: [] }, layout)
    t.same(await valuesOf(checkpoint), expected, layout)
  }
})

t.test('safetensors go before torch files', async (t) => {
  const files = { ...withWeights(LLAMA_CONFIG), 'pytorch_model.bin': Buffer.from('not even a zip') }
  t.equal((await openFiles(t, files)).format, 'safetensors')
})

t.test('the tensor infos place the bytes that read returns', async (t) => {
  const checkpoint = await openFiles(t, withWeights(LLAMA_CONFIG))
  const info = checkpoint.tensors.get('model.norm.weight')
  t.match(info, { dtype: 'F32', shape: [8], bytes: 32, file: join(checkpoint.dir, 'model.safetensors') })
  const { data } = await checkpoint.read('model.norm.weight')
  t.equal(data.byteOffset, 0)
  t.same([...new Float32Array(data.buffer)], weightsFor(LLAMA_CONFIG)['model.norm.weight']?.values)
})

t.test('half precision weights become float32', async (t) => {
  const data = Buffer.from(Uint16Array.of(0x3c00, 0xc000, 0x3f80, 0xc000).buffer)
  const header = { half: { dtype: 'F16', shape: [2], data_offsets: [0, 4] }, brain: { dtype: 'BF16', shape: [2], data_offsets: [4, 8] } }
  const checkpoint = await openFiles(t, { 'config.json': LLAMA_CONFIG, 'model.safetensors': safetensorsOf(header, data) })
  t.same([...(await readF32(checkpoint, 'half'))], [1, -2])
  t.same([...(await readF32(checkpoint, 'brain'))], [1, -2])
})

t.test('qa_config.json gives the question answering defaults', async (t) => {
  const qa = { k: 5, k_decoder: 1, demonstrations: 0, context_tokens: 96, max_new_tokens: 12 }
  t.same((await openFiles(t, { ...withWeights(LLAMA_CONFIG), 'qa_config.json': qa })).qaDefaults, qa)
  await t.rejects(openCheckpoint(folderOf(t, { ...withWeights(LLAMA_CONFIG), 'qa_config.json': { ...qa, k: -1 } }, 'bad')), {
    code: 'checkpoint_invalid',
    message: /qa_config\.json: k/,
  })
  const unknown = openCheckpoint(
    folderOf(t, { ...withWeights(LLAMA_CONFIG), 'qa_config.json': { ...qa, instructions: 'In one word.' } }, 'unknown'),
  )
  await t.rejects(
    unknown,
    { code: 'checkpoint_invalid', field: 'instructions', message: /qa_config\.json: instructions / },
    'a field that is not read',
  )
  const latin = Buffer.from(JSON.stringify({ ...qa, instruction: 'R\u00e9ponds en un mot.' }), 'latin1')
  const other = openCheckpoint(folderOf(t, { ...withWeights(LLAMA_CONFIG), 'qa_config.json': latin }, 'latin'))
  await t.rejects(other, { code: 'checkpoint_invalid', message: /qa_config\.json is not UTF-8/ })
})

t.test('generation_config.json names the tokens that end a text, as in transformers', async (t) => {
  const withStops = (generation: object | undefined, name: string) =>
    openCheckpoint(
      folderOf(
        t,
        { ...withWeights({ ...LLAMA_CONFIG, eos_token_id: 2 }), ...(generation && { 'generation_config.json': generation }) },
        name,
      ),
    )
  const plain = await withStops(undefined, 'plain')
  t.match(plain.config, { tokens: { eosIds: [2] } })
  const several = await withStops({ eos_token_id: [3, 2, 3], temperature: 0.7 }, 'several')
  t.match(several.config, { tokens: { eosIds: [3, 2] } })
  t.match((await withStops({ eos_token_id: 5 }, 'one')).config, { tokens: { eosIds: [5] } }, "config.json's is no longer one")
  t.not(several.revision, plain.revision, 'a model that ends elsewhere is another one')
  for (const [name, generation] of Object.entries({ same: { eos_token_id: 2 }, none: { temperature: 1 }, empty: { eos_token_id: [] } })) {
    const checkpoint = await withStops(generation, name)
    t.match(checkpoint.config, { tokens: { eosIds: [2] } })
    t.equal(checkpoint.revision, plain.revision, `${name}: the model is the one that it was`)
  }
  await t.rejects(withStops({ eos_token_id: 1e6 }, 'outside'), {
    code: 'checkpoint_invalid',
    message: /generation_config\.json: eos_token_id 1000000 is outside the vocabulary/,
  })
  await t.rejects(withStops({ eos_token_id: 'x' }, 'wrong'), {
    code: 'checkpoint_invalid',
    message: /generation_config\.json: eos_token_id/,
  })
})

t.test('the revision names the weights, not their place', async (t) => {
  const revision = async (name: string, files: Files) => (await openCheckpoint(folderOf(t, files, name))).revision
  const weights = weightsFor(LLAMA_CONFIG)
  const original = await revision('a', withWeights(LLAMA_CONFIG))
  t.match(original, /^[0-9a-f]{64}$/)
  t.equal(await revision('b', withWeights(LLAMA_CONFIG)), original)
  const retrained = { ...weights, 'model.norm.weight': { shape: [8], values: [9, 9, 9, 9, 9, 9, 9, 9] } }
  t.not(await revision('c', withWeights(LLAMA_CONFIG, retrained)), original, 'other weights behind the same header')
  t.not(await revision('d', withWeights({ ...LLAMA_CONFIG, rope_theta: 5e5 }, weights)), original, 'another config')
})

t.test('a Contriever saved inside another model, or with the old LayerNorm names', async (t) => {
  const weights = weightsFor(CONTRIEVER_CONFIG)
  const renamed = (rename: (name: string) => string): Weights =>
    Object.fromEntries(Object.entries(weights).map(([name, tensor]) => [rename(name), tensor]))
  const forms: Record<string, (name: string) => string> = {
    bert: (name) => `bert.${name}`,
    model: (name) => `model.${name}`,
    gamma: (name) => name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta'),
  }
  for (const [form, rename] of Object.entries(forms)) {
    const checkpoint = await openCheckpoint(folderOf(t, withWeights(CONTRIEVER_CONFIG, renamed(rename)), form))
    t.same(checkTensors(checkpoint), { unexpected: [] }, form)
    t.same([...(await readF32(checkpoint, 'embeddings.LayerNorm.weight'))], weights['embeddings.LayerNorm.weight']?.values, form)
  }
})

t.test('a folder with its weights as GGUF: Hugging Face names, quantised tensors read as float32', async (t) => {
  const config = { ...CONTRIEVER_CONFIG, hidden_size: 32, num_attention_heads: 2, intermediate_size: 32 }
  const weights = weightsFor(config)
  const whole = f32Gguf(weights)
  const checkpoint = await openCheckpoint(folderOf(t, { 'config.json': config, 'model.gguf': whole }, 'f32'))
  t.same(checkTensors(checkpoint), { unexpected: [] })
  t.equal(checkpoint.format, 'gguf')
  for (const [name, { values }] of Object.entries(weights)) t.same([...(await readF32(checkpoint, name))], values, name)

  const name = 'embeddings.word_embeddings.weight'
  // Nine rows of one block: a scale of 0.5 (f16 0x3800) and 32 signed bytes.
  const block = Buffer.from([0x00, 0x38, ...Array.from({ length: 32 }, (_, i) => (i - 16) & 0xff)])
  const blocks = Buffer.concat(Array.from({ length: 9 }, () => block))
  const quantised = f32Gguf({ ...weights, [name]: { shape: [9, 32], blocks } })
  const small = await openCheckpoint(folderOf(t, { 'config.json': config, 'model.gguf': quantised }, 'q8'))
  t.same(
    [...(await readF32(small, name))],
    Array.from({ length: 9 * 32 }, (_, i) => 0.5 * ((i % 32) - 16)),
  )
  t.same([...(await readF32(small, 'embeddings.LayerNorm.weight'))], weights['embeddings.LayerNorm.weight']?.values)
  t.not(small.revision, checkpoint.revision)
})

t.test('buffers and training heads are ignored, strangers reported', async (t) => {
  const one: F32Tensor = { shape: [1], values: [0] }
  const llama = await openFiles(
    t,
    withWeights(LLAMA_CONFIG, {
      ...weightsFor(LLAMA_CONFIG),
      'model.layers.0.self_attn.rotary_emb.inv_freq': one,
      'model.layers.0.self_attn.q_proj.bias': one,
    }),
  )
  t.same(checkTensors(llama), { unexpected: ['model.layers.0.self_attn.q_proj.bias'] })
  const bert = await openCheckpoint(
    folderOf(
      t,
      withWeights(CONTRIEVER_CONFIG, {
        ...weightsFor(CONTRIEVER_CONFIG),
        'embeddings.position_ids': one,
        'pooler.dense.bias': one,
        'cls.predictions.bias': one,
      }),
      'bert',
    ),
  )
  t.same(checkTensors(bert), { unexpected: [] })
})

t.test('tied embeddings need no lm_head and ignore one', async (t) => {
  const config = { ...LLAMA_CONFIG, tie_word_embeddings: true }
  t.notOk(expectedTensors(parseConfig(config)).has('lm_head.weight'))
  t.same(checkTensors(await openFiles(t, withWeights(config, weightsFor(LLAMA_CONFIG)))), { unexpected: [] })
})

t.test('cross-attention is expected in the last layers only, with grouped keys in both attentions', (t) => {
  const expected = expectedTensors(parseConfig(CEPE_CONFIG))
  t.notOk(expected.has('model.layers.0.cross_attn.q_proj.weight'))
  t.same(expected.get('model.layers.1.cross_attn.k_proj.weight'), [4, 4])
  t.same(expected.get('model.layers.0.self_attn.k_proj.weight'), [4, 8])
  t.notOk(expected.has('encoder.lm_head.weight'))
  t.end()
})

t.test('weights that do not fit the config are refused by name', async (t) => {
  const { 'lm_head.weight': _, ...without } = weightsFor(LLAMA_CONFIG)
  const missing = await openCheckpoint(folderOf(t, withWeights(LLAMA_CONFIG, without), 'missing'))
  t.throws(() => checkTensors(missing), { code: 'checkpoint_invalid', message: /lacks 1 of the \d+ tensors.*: lm_head\.weight/ })
  const shaped = await openCheckpoint(
    folderOf(
      t,
      withWeights(LLAMA_CONFIG, { ...without, 'lm_head.weight': { shape: [8, 11], values: Array.from({ length: 88 }, () => 0) } }),
      'shape',
    ),
  )
  t.throws(() => checkTensors(shaped), {
    code: 'checkpoint_invalid',
    message: /lm_head\.weight has the shape \[8, 11\], config\.json needs \[11, 8\]/,
  })
})

t.test('a NaN weight is refused when it is read', async (t) => {
  const weights = { ...weightsFor(LLAMA_CONFIG), 'model.norm.weight': { shape: [8], values: [0, 0, 0, NaN, 0, 0, 0, 0] } }
  const checkpoint = await openFiles(t, withWeights(LLAMA_CONFIG, weights))
  const expected = { code: 'checkpoint_invalid', message: /model\.norm\.weight holds a NaN.*element 3/ }
  await t.rejects(readF32(checkpoint, 'model.norm.weight'), expected)
  await t.rejects(checkpoint.read('model.norm.weight'), expected)
  await t.rejects(checkpoint.read('model.nothing'), { code: 'checkpoint_invalid', message: /no tensor model\.nothing/ })
})

t.test('weights that change while a checkpoint is in use are refused', async (t) => {
  const changes: Readonly<Record<string, readonly [(file: string) => void, RegExp]>> = {
    shorter: [(file) => truncateSync(file, 64), /model\.safetensors was changed while it was read/],
    'written again': [(file) => writeFileSync(file, readFileSync(file)), /model\.safetensors was changed/],
    replaced: [
      (file) => {
        writeFileSync(`${file}.new`, readFileSync(file))
        renameSync(`${file}.new`, file)
      },
      /model\.safetensors was changed/,
    ],
    removed: [(file) => rmSync(file), /model\.safetensors is missing/],
  }
  for (const [name, [change, message]] of Object.entries(changes)) {
    const checkpoint = await openCheckpoint(folderOf(t, withWeights(LLAMA_CONFIG), name))
    await checkpoint.read('lm_head.weight')
    change(join(checkpoint.dir, 'model.safetensors'))
    await t.rejects(checkpoint.read('lm_head.weight'), { code: 'checkpoint_invalid', message }, name)
  }
})

t.test('nothing stays open after reading, nor after a refusal', async (t) => {
  const open = (): number => readdirSync('/proc/self/fd').length
  const before = open()
  const checkpoint = await openCheckpoint(folderOf(t, withWeights(LLAMA_CONFIG)))
  await checkpoint.read('lm_head.weight')
  await t.rejects(openCheckpoint(folderOf(t, { ...withWeights(LLAMA_CONFIG), 'model.safetensors': Buffer.alloc(32) }, 'damaged')))
  await t.rejects(buildModel({ checkpointDir: checkpoint.dir, outDir: join(t.testdir(), 'out'), dtype: 'f32', rope: { rope: 'spiral:2' } }))
  t.equal(open(), before)
})

const [first, second] = halves(weightsFor(LLAMA_CONFIG))
function sharded(index: object): Files {
  return { 'config.json': LLAMA_CONFIG, 'a.safetensors': f32Safetensors(first), 'model.safetensors.index.json': index }
}

const REFUSED: readonly [string, Files, RegExp, string?][] = [
  ['no config', { 'model.safetensors': f32Safetensors({}) }, /no config\.json/],
  ['a config that is not valid JSON', { 'config.json': '{"architectures":' }, /config\.json is not JSON/],
  ['no weights', { 'config.json': LLAMA_CONFIG }, /holds no weights; expected one of model\.safetensors/],
  ['a missing shard', sharded(indexOf({ 'a.safetensors': first, 'b.safetensors': second })), /names b\.safetensors, missing/],
  [
    'a tensor that its shard lacks',
    sharded(indexOf({ 'a.safetensors': { ...first, 'lm_head.weight': { shape: [], values: [] } } })),
    /places tensor lm_head\.weight in a\.safetensors, which does not hold it/,
  ],
  [
    'an index that leads out of the folder',
    sharded({ weight_map: { w: '../a.safetensors' } }),
    /"\.\.\/a\.safetensors" is not a plain file name/,
  ],
  ['an index without a map', sharded({ metadata: {} }), /index\.json.*weight_map/],
  ['an empty index', sharded({ weight_map: {} }), /weight_map is empty/],
  [
    'a tensor in two shards',
    {
      ...sharded({
        weight_map: { ...Object.fromEntries(Object.keys(first).map((name) => [name, 'a.safetensors'])), 'lm_head.weight': 'b.safetensors' },
      }),
      'b.safetensors': f32Safetensors({ ...first, ...second }),
    },
    /is stored twice, in a\.safetensors and b\.safetensors/,
  ],
  ['another architecture', { 'config.json': { architectures: ['T5Model'] } }, /T5Model/, 'unsupported'],
]

for (const [what, files, message, code = 'checkpoint_invalid'] of REFUSED) {
  t.test(`${what} is refused`, (t) => t.rejects(openCheckpoint(folderOf(t, files)), { name: 'CodedError', code, message }))
}

t.test('a folder that is none is refused', (t) =>
  t.rejects(openCheckpoint(join(t.testdir(), 'gone')), { code: 'checkpoint_invalid', message: /is no folder/ }),
)

/** Sums over all float weights as PyTorch reads these files. */
const OWN_SUMS = JSON.parse(readFileSync('test/fixtures/weight-sums.json', 'utf8')) as Record<string, number>
const REFERENCE_SUMS = {
  'cepe-tiny': 884.3900954487877,
  'cepe-tiny-bin': 854.2517774906307,
  'contriever-tiny': 293.95073798081467,
  'contriever-tiny-bin': 228.3385229124146,
}

for (const [root, sums] of [
  ['test/fixtures/recipe', OWN_SUMS],
  ['test/fixtures/reference', REFERENCE_SUMS],
] as const) {
  for (const [name, expected] of Object.entries(sums)) {
    const folder = join(root, name)
    t.test(`${folder} holds what PyTorch reads`, async (t) => {
      const checkpoint = await openCheckpoint(folder)
      t.same(checkTensors(checkpoint), { unexpected: [] })
      let sum = 0
      for (const [tensor, { dtype }] of checkpoint.tensors) {
        if (dtype === 'F32') for (const value of await readF32(checkpoint, tensor)) sum += value
      }
      t.ok(Math.abs(sum - expected) < 1e-6, `${sum} is ${expected}`)
    })
  }
}
