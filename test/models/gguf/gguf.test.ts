import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildModel, isBuiltFrom } from '../../../models/build.ts'
import { openCheckpoint } from '../../../models/open-checkpoint.ts'
import { readF32 } from '../../../models/checkpoint/weights.ts'
import { loadCepeManifest } from '../../../models/folder.ts'
import { ggufTokenizer } from '../../../models/gguf/tokenizer.ts'
import type { MetadataValue } from '../../../models/gguf/metadata.ts'
import { readGgufHeader } from '../../../models/gguf/header.ts'
import { openWeightFile } from '../../../models/checkpoint/file.ts'
import { emptyCache, emptyPhi, floatsOf, int64, openModel, ones, output } from '../../helpers/open-model.ts'
import { openTokenizer } from '../../../models/tokenizer/codec.ts'
import { decodeSentencePiece } from '../../../models/tokenizer/sentencepiece-model.ts'
import { convertSentencePiece } from '../../../models/tokenizer/sentencepiece.ts'
import { runCli } from '../../helpers/cli.ts'
import { ggufOf, u32, u64, type GgufEntry, type GgufParts } from '../../helpers/gguf.ts'
import { temporaryFolder } from '../helpers.ts'

const FILE = 'test/fixtures/gguf/llama.gguf'

interface Goldens {
  readonly prompt: readonly number[]
  readonly logits: readonly number[]
  readonly sha256: Readonly<Record<string, string>>
  readonly tokens: Readonly<Record<string, readonly (readonly [text: string, ids: readonly number[]])[]>>
}
const GOLDENS = JSON.parse(readFileSync('test/fixtures/gguf/golden.json', 'utf8')) as Goldens

async function headerOf(path: string) {
  return readGgufHeader(await openWeightFile(path))
}

await t.test('every tensor type gives the weights that transformers reads, bit by bit', async (t) => {
  const checkpoint = await openCheckpoint(FILE)
  t.same([...new Set((await headerOf(FILE)).tensors.map(({ type }) => type))].sort(), [
    'BF16',
    'F16',
    'F32',
    'Q4_0',
    'Q4_1',
    'Q4_K',
    'Q5_0',
    'Q5_1',
    'Q5_K',
    'Q6_K',
    'Q8_0',
  ])
  t.same([...checkpoint.tensors.keys()].sort(), Object.keys(GOLDENS.sha256).sort())
  for (const [name, sha256] of Object.entries(GOLDENS.sha256)) {
    const values = await readF32(checkpoint, name)
    t.equal(createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex'), sha256, name)
  }
})

await t.test('a model built of it computes the logits of transformers', async (t) => {
  const outDir = join(temporaryFolder(t), 'model')
  const built = await buildModel({ checkpointDir: FILE, outDir, dtype: 'f32', inPlace: true })
  t.same(built.tokens, { bos_id: null, eos_ids: [2, 0], pad_id: 2 })
  t.ok(await isBuiltFrom(built, FILE))
  const manifest = await loadCepeManifest(outDir)
  const model = await openModel(outDir)
  t.teardown(() => model[Symbol.asyncDispose]())
  const length = GOLDENS.prompt.length
  const outputs = await model.run(manifest.graphs.step, {
    input_ids: int64(BigInt64Array.from(GOLDENS.prompt, BigInt), [1, length]),
    attention_mask: int64(ones(length), [1, length]),
    phi: emptyPhi(manifest),
    ...emptyCache(manifest, 1),
  })
  const last = floatsOf(output(outputs, 'logits')).slice(-manifest.dims.vocab_size)
  const differences = GOLDENS.logits.map((value, id) => Math.abs(value - (last[id] ?? Infinity)))
  t.ok(Math.max(...differences) < 1e-3, `largest difference ${Math.max(...differences)}`)
})

await t.test('a renamed copy is the same model, a changed weight another', async (t) => {
  const copy = join(t.testdir(), 'other.gguf')
  cpSync(FILE, copy)
  const revision = async (path: string): Promise<string> => {
    const checkpoint = await openCheckpoint(path)
    return checkpoint.revision
  }
  t.equal(await revision(copy), await revision(FILE))
  const bytes = readFileSync(copy)
  const last = bytes.length - 1
  bytes.writeUInt8(bytes.readUInt8(last) ^ 1, last)
  writeFileSync(copy, bytes)
  t.not(await revision(copy), await revision(FILE))
})

for (const [name, texts] of Object.entries(GOLDENS.tokens)) {
  await t.test(`gpt2 with the pre-tokenizer ${name} gives the ids of huggingface/tokenizers`, async (t) => {
    const { metadata } = await headerOf(FILE)
    const files = ggufTokenizer(new Map<string, MetadataValue>([...metadata, ['tokenizer.ggml.pre', name]]), FILE)
    if (files === null) throw new Error('no tokenizer')
    const codec = openTokenizer(files)
    for (const [written, ids] of texts) t.same(codec.encode(written, { add_special_tokens: false }).ids, ids, JSON.stringify(written))
    t.equal(files.config['bos_token'], '<|im_start|>')
    t.match(files.config['chat_template'], /im_start/)
  })
}

await t.test('the token of the beginning goes in front where the file says so', async (t) => {
  const { metadata } = await headerOf(FILE)
  const first = (said: boolean): number | undefined => {
    const files = ggufTokenizer(new Map<string, MetadataValue>([...metadata, ['tokenizer.ggml.add_bos_token', said]]), FILE)
    return files === null ? undefined : openTokenizer(files).encode('Canberra').ids[0]
  }
  t.equal(first(true), 1)
  t.not(first(false), 1)
})

await t.test('llama gives the ids of the same SentencePiece model', (t) => {
  const bytes = readFileSync('test/fixtures/sentencepiece/tokenizer.model')
  const { pieces } = decodeSentencePiece(bytes, 'tokenizer.model')
  const metadata = new Map<string, MetadataValue>([
    ['tokenizer.ggml.model', 'llama'],
    ['tokenizer.ggml.tokens', pieces.map(({ piece }) => piece)],
    ['tokenizer.ggml.scores', pieces.map(({ score }) => score)],
    ['tokenizer.ggml.token_type', pieces.map(({ type }) => type)],
    ['tokenizer.ggml.bos_token_id', 1],
  ])
  const files = ggufTokenizer(metadata, 'model.gguf')
  if (files === null) throw new Error('no tokenizer')
  t.same(files.tokenizer, convertSentencePiece(bytes).tokenizer)
  const user = pieces.map(({ type }, id) => (id === pieces.length - 1 ? 4 : type))
  const changed = ggufTokenizer(new Map<string, MetadataValue>([...metadata, ['tokenizer.ggml.token_type', user]]), 'model.gguf')
  t.same(
    changed?.tokenizer.added_tokens.map(({ id }) => id),
    [pieces.length - 1],
    'user-defined pieces are found first',
  )
  t.end()
})

const LLAMA: readonly GgufEntry[] = [
  ['general.architecture', 'llama'],
  ['llama.block_count', 1],
  ['llama.context_length', 64],
  ['llama.embedding_length', 32],
  ['llama.feed_forward_length', 32],
  ['llama.attention.head_count', 2],
  ['llama.attention.layer_norm_rms_epsilon', Buffer.concat([u32(6), Buffer.from(new Float32Array([1e-5]).buffer)])],
]
const EMBEDDING = { name: 'token_embd.weight', dims: [32, 4], type: 8, offset: 0 }
const SOUND: GgufParts = { entries: LLAMA, tensors: [EMBEDDING], data: 160 }
const list = (count: bigint): Buffer => Buffer.concat([u32(9), u32(4), u64(count)])

await t.test('the parts of the refused files are sound', async (t) => {
  const path = join(t.testdir(), 'sound.gguf')
  writeFileSync(path, ggufOf(SOUND))
  const checkpoint = await openCheckpoint(path)
  t.equal(checkpoint.config.architecture, 'cepe')
})

const f32 = (value: number): Buffer => Buffer.concat([u32(6), Buffer.from(new Float32Array([value]).buffer)])
const YARN: readonly GgufEntry[] = [
  ...LLAMA,
  ['llama.rope.scaling.type', 'yarn'],
  ['llama.rope.scaling.factor', 4],
  ['llama.rope.scaling.original_context_length', 16],
]

await t.test('all settings of YaRN are read', async (t) => {
  const path = join(t.testdir(), 'yarn.gguf')
  const own: GgufEntry[] = [
    ['llama.rope.scaling.yarn_beta_fast', f32(16)],
    ['llama.rope.scaling.yarn_beta_slow', f32(2)],
    ['llama.rope.scaling.yarn_attn_factor', f32(1)],
  ]
  writeFileSync(path, ggufOf({ ...SOUND, entries: [...YARN, ...own] }))
  const { config } = await openCheckpoint(path)
  t.match(config, { decoder: { ropeScaling: { type: 'yarn', factor: 4, originalWindow: 16, betaFast: 16, betaSlow: 2 } } })
})

const REFUSED: readonly (readonly [what: string, bytes: Buffer, code: string, message: RegExp, name?: string])[] = [
  ['an empty file', Buffer.alloc(0), 'checkpoint_invalid', /no GGUF file/],
  ['another format', Buffer.from('PK'.padEnd(64)), 'checkpoint_invalid', /no GGUF file.*Hugging Face folder/],
  ['version 1', ggufOf({ ...SOUND, version: 1 }), 'unsupported', /version 1; supported are 2 and 3/],
  ['a big-endian file', ggufOf({ ...SOUND, version: 0x03000000 }), 'unsupported', /big-endian/],
  ['a claim of tensors', ggufOf({ ...SOUND, counts: { tensors: 2n ** 63n } }), 'checkpoint_invalid', /claims \d+ of its tensors/],
  ['a claim of metadata', ggufOf({ ...SOUND, counts: { entries: 2n ** 40n } }), 'checkpoint_invalid', /claims \d+ of its metadata/],
  ['a claim of list entries', ggufOf({ entries: [['a', list(2n ** 50n)]] }), 'checkpoint_invalid', /"a" claims a list/],
  [
    'a claim of a string',
    ggufOf({ entries: [['a', Buffer.concat([u32(8), u64(2n ** 62n)])]] }),
    'checkpoint_invalid',
    /truncated or damaged/,
  ],
  ['lists in lists', ggufOf({ entries: [['a', Buffer.concat([u32(9), u32(9), u64(1)])]] }), 'checkpoint_invalid', /unknown type 9/],
  ['metadata twice', ggufOf({ entries: [...LLAMA, ...LLAMA] }), 'checkpoint_invalid', /twice/],
  ['a header cut off', ggufOf(SOUND).subarray(0, 200), 'checkpoint_invalid', /truncated/],
  ['data cut off', ggufOf({ ...SOUND, data: 100 }), 'checkpoint_invalid', /"token_embd.weight" lies in bytes.*download it again/],
  ['an offset far out', ggufOf({ ...SOUND, tensors: [{ ...EMBEDDING, offset: 2 ** 52 }] }), 'checkpoint_invalid', /lies in bytes/],
  ['an odd offset', ggufOf({ ...SOUND, tensors: [{ ...EMBEDDING, offset: 3 }] }), 'checkpoint_invalid', /alignment/],
  [
    'a huge tensor',
    ggufOf({ ...SOUND, tensors: [{ ...EMBEDDING, dims: [2 ** 40, 2 ** 40] }] }),
    'checkpoint_invalid',
    /impossible dimensions/,
  ],
  ['half a block', ggufOf({ ...SOUND, tensors: [{ ...EMBEDDING, dims: [16, 4] }] }), 'checkpoint_invalid', /no multiple of the 32/],
  ['five dimensions', ggufOf({ ...SOUND, tensors: [{ ...EMBEDDING, dims: [1, 1, 1, 1, 1] }] }), 'checkpoint_invalid', /5 dimensions/],
  [
    'tensors one over the other',
    ggufOf({ ...SOUND, tensors: [EMBEDDING, { ...EMBEDDING, name: 'output.weight' }] }),
    'checkpoint_invalid',
    /overlap/,
  ],
  ['another tensor type', ggufOf({ ...SOUND, tensors: [{ ...EMBEDDING, type: 10 }] }), 'unsupported', /Q2_K; supported are F32/],
  [
    'another architecture',
    ggufOf({ ...SOUND, entries: [['general.architecture', 'falcon']] }),
    'unsupported',
    /"falcon"; supported are llama, qwen2/,
  ],
  [
    'biases of a LLaMA',
    ggufOf({
      ...SOUND,
      entries: LLAMA,
      tensors: [...(SOUND.tensors ?? []), { name: 'blk.0.attn_q.bias', dims: [1], type: 0, offset: 160 }],
      data: 192,
    }),
    'unsupported',
    /attention_bias is true/,
  ],
  ['experts', ggufOf({ ...SOUND, entries: [...LLAMA, ['llama.expert_count', 8]] }), 'unsupported', /expert_count is 8/],
  [
    'another factor of YaRN',
    ggufOf({ ...SOUND, entries: [...YARN, ['llama.rope.scaling.yarn_attn_factor', 2]] }),
    'unsupported',
    /llama\.rope\.scaling\.yarn_attn_factor is 2, a scaling that is not computed/,
  ],
  [
    'a decoder that sees later tokens',
    ggufOf({ ...SOUND, entries: [...LLAMA, ['llama.attention.causal', false]] }),
    'unsupported',
    /is_causal is false/,
  ],
  ['a field missing', ggufOf({ ...SOUND, entries: LLAMA.slice(0, -1) }), 'checkpoint_invalid', /rms_epsilon is missing/],
  [
    'a field of another kind',
    ggufOf({ ...SOUND, entries: [...LLAMA, ['llama.rope.freq_base', 'x']] }),
    'checkpoint_invalid',
    /must be a number/,
  ],
  [
    'a part by its metadata',
    ggufOf({ ...SOUND, entries: [...LLAMA, ['split.count', 2]] }),
    'unsupported',
    /one part of a model in 2 files/,
  ],
  [
    'a part by its name',
    ggufOf(SOUND),
    'unsupported',
    /in 3 files, of which m-00002-of-00003\.gguf, m-00003-of-00003\.gguf are missing in its folder: download them, join them/,
    'm-00001-of-00003.gguf',
  ],
  [
    'a part of many by its name',
    ggufOf(SOUND),
    'unsupported',
    /in 8 files, of which m-00002-of-00008\.gguf, (?:m-0000[3-6]-of-00008\.gguf,? ){4}and 2 more are missing in its folder/,
    'm-00001-of-00008.gguf',
  ],
  [
    'frequencies scaled one by one',
    ggufOf({ ...SOUND, tensors: [EMBEDDING, { name: 'rope_freqs.weight', dims: [8], type: 0, offset: 160 }], data: 192 }),
    'unsupported',
    /rope_freqs.weight.*Hugging Face folder/,
  ],
]
for (const [what, bytes, code, message, name = 'model.gguf'] of REFUSED) {
  await t.test(`${what} is refused`, async (t) => {
    const path = join(t.testdir(), name)
    writeFileSync(path, bytes)
    await t.rejects(openCheckpoint(path), { code, message })
    await t.rejects(openCheckpoint(path), { message: /download|convert|take |give |build from|Hugging Face folder/ }, 'with a remedy')
  })
}

await t.test('tokenizers that would give other tokens are refused', async (t) => {
  const { metadata } = await headerOf(FILE)
  const changed = (key: string, value: string | readonly string[]) => (): unknown =>
    ggufTokenizer(new Map<string, MetadataValue>([...metadata, [`tokenizer.ggml.${key}`, value]]), FILE)
  t.throws(changed('pre', 'falcon'), { code: 'unsupported', message: /"falcon"; supported are default, gpt-2, smollm, llama-bpe/ })
  t.throws(changed('model', 't5'), { code: 'unsupported', message: /"t5"; supported are "gpt2"/ })
  t.throws(changed('merges', ['a b c']), { code: 'checkpoint_invalid', message: /joins no two tokens/ })
  t.throws(changed('tokens', ['a', 'b']), { code: 'checkpoint_invalid', message: /token_type has 384 entries/ })
  const path = join(t.testdir(), 'foreign.gguf')
  writeFileSync(path, Buffer.from(readFileSync(FILE).toString('latin1').replace('smollm', 'smolxx'), 'latin1'))
  const checkpoint = await openCheckpoint(path)
  t.throws(() => checkpoint.tokenizer?.(), { code: 'unsupported', message: /^foreign\.gguf: metadata tokenizer\.ggml\.pre is "smolxx"/ })
})

await t.test('cepe builds and shows a file; of a refused one nothing is left', async (t) => {
  const folder = temporaryFolder(t)
  const shown = await runCli(['inspect', FILE])
  t.equal(shown.code, 0)
  t.match(shown.stdout, /GGUF version 3, .*cepe build can build it.*Q6_K: 2 tensors.*tokenizer\.ggml\.pre: "smollm"/s)
  const built = await runCli(['build', FILE, '--out', join(folder, 'model'), '--dtype', 'int8'])
  t.equal(built.code, 0, built.stderr)
  t.match((await runCli(['inspect', join(folder, 'model')])).stdout, /from llama /)
  const hostile = join(folder, 'hostile.gguf')
  writeFileSync(hostile, ggufOf({ ...SOUND, entries: [...LLAMA, ['general.name', '\u001b[2J']], tensors: [EMBEDDING] }))
  const refused = await runCli(['build', hostile, '--out', join(folder, 'refused')])
  t.not(refused.code, 0)
  t.match(refused.stderr, /lacks 10 of the 11 tensors/)
  t.notOk(existsSync(join(folder, 'refused')))
  const { stdout } = await runCli(['inspect', hostile])
  t.notMatch(stdout, '\u001b')
  t.ok(stdout.includes('\\u001b[2J'))
})
