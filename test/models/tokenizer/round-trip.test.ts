import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildModel } from '../../../models/build.ts'
import type { MetadataValue } from '../../../models/gguf/metadata.ts'
import { ggufTokenizer } from '../../../models/gguf/tokenizer.ts'
import { endTokens } from '../../../models/tokenizer/bos.ts'
import { openTokenizer } from '../../../models/tokenizer/codec.ts'
import { tokenizerFiles } from '../../../models/tokenizer/files.ts'
import { checkRoundTrip } from '../../../models/tokenizer/round-trip.ts'
import type { TokenizerFiles } from '../../../models/tokenizer/tokenizer-json.ts'
import { bpePieces } from '../../fixtures/sentencepiece.ts'
import { runCli } from '../../helpers/cli.ts'
import { temporaryFolder } from '../helpers.ts'

const USER_DEFINED = 4
const CONTROL = 3
const UNUSED = 5
const letters = [...'abcdefghijklmnopqrstuvwxyz▁:?<>/'].map((piece, rank) => ({ piece, score: -rank, type: 1 }))

/** Gemma's kind of GGUF file: line breaks, runs of spaces and tags are pieces of their own. */
function gemma(runs: readonly string[], type = USER_DEFINED): TokenizerFiles {
  const own = ['\n', '\n\n', '\t', '<b>', ...runs].map((piece) => ({ piece, score: 0, type }))
  const ends = ['<end_of_turn>', '<|endoftext|>'].map((piece) => ({ piece, score: 0, type: CONTROL }))
  const pieces = [...bpePieces(), ...own, ...ends, { piece: '<unused0>', score: 0, type: UNUSED }, ...letters]
  const files = ggufTokenizer(
    new Map<string, MetadataValue>([
      ['general.architecture', 'gemma3'],
      ['tokenizer.ggml.model', 'llama'],
      ['tokenizer.ggml.tokens', pieces.map(({ piece }) => piece)],
      ['tokenizer.ggml.scores', pieces.map(({ score }) => score)],
      ['tokenizer.ggml.token_type', pieces.map(({ type }) => type)],
      ['tokenizer.ggml.add_space_prefix', false],
      ['tokenizer.ggml.bos_token_id', 1],
      ['tokenizer.ggml.eos_token_id', 2],
    ]),
    'gemma.gguf',
  )
  if (files === null) throw new Error('no tokenizer')
  return files
}

t.test("a GGUF file's user-defined pieces come back as the text that they were found in", (t) => {
  for (const [what, runs] of [
    ['spaces', ['  ', '   ']],
    ['marks of spaces, as earlier converters wrote them', ['▁▁', '▁▁▁']],
  ] as const) {
    const files = gemma(runs)
    const codec = openTokenizer(files)
    const read = (text: string) => codec.encode(text, { add_special_tokens: false }).ids
    // 259 pieces of bytes and control precede '\n' (259), '\n\n' (260), '\t' (261), '<b>' (262), two spaces (263), three (264).
    for (const [text, id] of [
      ['a\nb', 259],
      ['a\n\nb', 260],
      ['a\tb', 261],
      ['a<b>b', 262],
      ['x  y', 263],
      ['x   y', 264],
    ] as const) {
      const ids = read(text)
      t.equal(ids[1], id, `${what}: ${JSON.stringify(text)}`)
      t.equal(ids.length, 3)
      t.equal(codec.decode(ids, { skip_special_tokens: true }), text)
    }
    t.equal(codec.decode([2, 267, 265], { skip_special_tokens: true }), '', 'control and unused pieces stand for no text')
    t.same(checkRoundTrip(files, 'gemma'), [])
  }
  t.end()
})

t.test('line breaks that are passed on as control pieces are refused by name', (t) => {
  t.throws(() => checkRoundTrip(gemma(['  '], CONTROL), 'gemma'), {
    code: 'checkpoint_invalid',
    field: 'tokenizer',
    message: /^the tokenizer of gemma does not give back line breaks: "a\\nb" becomes "ab"/,
  })
  t.end()
})

t.test('tokens that end a text are taken by name as well', (t) => {
  t.same(endTokens([2], gemma([])), [2, 264, 263], 'the declared one, <|endoftext|>, <end_of_turn>')
  t.same(endTokens([2], null), [2])
  t.end()
})

t.test('what a tokenizer declares to change is no loss; anything else is', async (t) => {
  const files = await tokenizerFiles('test/fixtures/decoders/qwen2')
  const changed = (parts: object): TokenizerFiles => ({ ...files, tokenizer: { ...files.tokenizer, ...parts } })
  t.same(checkRoundTrip(files, 'qwen2'), [], 'NFC')
  const lowercase = { type: 'Sequence', normalizers: [{ type: 'NFKC' }, { type: 'Lowercase' }] }
  for (const normalizer of [null, lowercase, { type: 'NFD' }, { type: 'Replace', pattern: { String: 'e' }, content: 'é' }])
    t.same(checkRoundTrip(changed({ normalizer }), 'qwen2'), [])
  for (const parts of [{ decoder: null }, { decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'never' } }])
    t.throws(() => checkRoundTrip(changed(parts), 'qwen2'), { code: 'checkpoint_invalid', message: /does not give back/ })
  const words = { type: 'WordLevel', unk_token: '<unk>', vocab: { '<unk>': 0, a: 1, b: 2 } }
  const wordFiles = changed({ model: words, added_tokens: [], normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' }, decoder: null })
  t.ok(checkRoundTrip(wordFiles, 'words').includes('emoji'), 'texts without tokens are named, not refused')
})

t.test('a build ends with it, and leaves nothing behind where it fails', async (t) => {
  const folder = temporaryFolder(t)
  const checkpointDir = join(folder, 'damaged')
  cpSync('test/fixtures/decoders/qwen2', checkpointDir, { recursive: true })
  const file = join(checkpointDir, 'tokenizer.json')
  const json = JSON.parse(readFileSync(file, 'utf8')) as { added_tokens: object[]; model: { vocab: Record<string, number> } }
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  const added = [...json.added_tokens, { id: json.model.vocab['Ċ'], content: 'Ċ', ...flags }]
  writeFileSync(file, JSON.stringify({ ...json, added_tokens: added }))
  const outDir = join(folder, 'model')
  await t.rejects(buildModel({ checkpointDir, outDir, dtype: 'f32' }), {
    code: 'checkpoint_invalid',
    message: /^the tokenizer of damaged does not give back line breaks: "a\\nb" becomes "ab"; take its files/,
  })
  t.notOk(existsSync(outDir))
  const { code, stderr } = await runCli(['build', checkpointDir, '--out', outDir])
  t.not(code, 0)
  t.match(stderr, /does not give back line breaks/)
})
