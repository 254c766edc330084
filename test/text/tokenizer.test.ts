import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { tokenizerFiles } from '../../models/tokenizer/files.ts'
import { loadTokenizer } from '../../src/text/tokenizer.ts'
import { SENTENCEPIECE } from '../helpers/sentencepiece-goldens.ts'

/** Byte-level pieces and words of a LLaMA-like vocabulary: newline is a byte token, and part of no word. */
const VOCABULARY = ['<unk>', '<s>', '</s>', '<0x0A>', '▁', 'a', 'b', '▁a', 'ab', '▁ab']
const definition = {
  version: '1.0',
  added_tokens: [0, 1, 2].map((id) => ({
    id,
    content: VOCABULARY[id],
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  })),
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  pre_tokenizer: null,
  post_processor: null,
  decoder: {
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 },
    ],
  },
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    fuse_unk: true,
    byte_fallback: true,
    ignore_merges: false,
    vocab: Object.fromEntries(VOCABULARY.map((piece, id) => [piece, id])),
    merges: [
      ['▁', 'a'],
      ['a', 'b'],
      ['▁a', 'b'],
    ],
  },
}

await t.test('ids without special tokens, BOS on request, text back', async (t) => {
  const dir = t.testdir({ 'tokenizer.json': JSON.stringify(definition) })
  const tokenizer = await loadTokenizer(dir, { bos_id: 1, eos_ids: [2] })
  const ids = tokenizer.encode('ab a\nab')
  t.same(ids, [9, 7, 3, 8])
  t.same(tokenizer.encode('ab a\nab', { bos: true }), [1, ...ids])
  t.equal(tokenizer.decode([1, ...ids, 2]), 'ab a\nab')
  t.equal(tokenizer.decode([]), '')
  t.same(tokenizer.encode(''), [])
  const without = await loadTokenizer(dir)
  t.same(without.encode('a', { bos: true }), without.encode('a'))
})

await t.test('the first ids of a long text are those of the whole text', async (t) => {
  const dir = t.testdir({ 'tokenizer.json': JSON.stringify(definition) })
  const tokenizer = await loadTokenizer(dir, { bos_id: 1, eos_ids: [2] })
  const text = Array.from({ length: 3000 }, (_, i) => ['ab', ' a', 'b\n', 'aab', '  '][(i * i + (i >> 3)) % 5]).join('')
  const ids = tokenizer.encode(text)
  for (const maxTokens of [0, 1, 10, 500, ids.length - 1, ids.length, ids.length + 5])
    t.same(tokenizer.encode(text, { maxTokens }), ids.slice(0, maxTokens))
  t.same(tokenizer.encode(text, { maxTokens: 3, bos: true }), [1, ...ids.slice(0, 3)])
})

await t.test('stop ids: every id whose text has the newline, and end of sequence', async (t) => {
  const dir = t.testdir({ 'tokenizer.json': JSON.stringify(definition), 'tokenizer_config.json': '{}' })
  const tokenizer = await loadTokenizer(dir, { bos_id: 1, eos_ids: [2] })
  t.same(tokenizer.stopIds('\n'), [2, 3])
  tokenizer.stopIds('\n').push(99)
  t.same(tokenizer.stopIds('\n'), [2, 3], 'callers may change what they got')
  t.same(tokenizer.stopIds('b'), [2, 6, 8, 9])
})

await t.test('a missing or broken tokenizer is an invalid model, by file', async (t) => {
  const dir = t.testdir({
    broken: { 'tokenizer.json': '{' },
    list: { 'tokenizer.json': '[]' },
    other: { 'tokenizer.json': '{"model": {"type": "Nonesuch"}}' },
    empty: {},
  })
  for (const name of ['broken', 'list', 'other', 'empty']) {
    await t.rejects(loadTokenizer(path.join(dir, name)), { code: 'model_invalid', message: /tokenizer\.json/ }, name)
  }
})

for (const { what, folder, skip } of SENTENCEPIECE)
  await t.test(what, { skip }, async (t) => {
    const { tokenizer: json, config } = await tokenizerFiles(folder)
    const dir = t.testdir({})
    writeFileSync(path.join(dir, 'tokenizer.json'), JSON.stringify(json))
    writeFileSync(path.join(dir, 'tokenizer_config.json'), JSON.stringify(config))
    const tokenizer = await loadTokenizer(dir, { bos_id: 1, eos_ids: [2] })
    const lines = readFileSync(path.join(folder, 'golden.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { text: string; ids: number[]; decoded: string })
    t.same(
      lines.map(({ text }) => tokenizer.encode(text)),
      lines.map(({ ids }) => ids),
    )
    t.same(
      lines.map(({ ids }) => tokenizer.decode(ids)),
      lines.map(({ decoded }) => decoded),
    )
    t.same(tokenizer.stopIds('\n'), [2, 13])
    const all = lines.map(({ text }) => text).join('')
    for (const text of [all, [...all].reverse().join(''), 'a'.repeat(5000), ' '.repeat(5000)]) {
      const ids = tokenizer.encode(text)
      for (const maxTokens of [5, 37, 200]) t.same(tokenizer.encode(text, { maxTokens }), ids.slice(0, maxTokens))
    }
  })
