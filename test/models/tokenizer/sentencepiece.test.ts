import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTokenizer } from '../../../models/tokenizer/codec.ts'
import { convertSentencePiece } from '../../../models/tokenizer/sentencepiece.ts'
import { tokenId, vocabularySize } from '../../../models/tokenizer/tokenizer-json.ts'
import { FIRST_PIECE, bpePieces, sentencePieceOf } from '../../fixtures/sentencepiece.ts'
import { SENTENCEPIECE } from '../../helpers/sentencepiece-goldens.ts'

function load(bytes: Uint8Array) {
  return openTokenizer(convertSentencePiece(bytes))
}

const PIECES = ['▁a', 'bc', '▁abc', 'abc', '▁', 'a', 'b', 'c', 's', '<', '>', '/']
const pieces = bpePieces(...PIECES)
function idsOf(...wanted: readonly string[]): number[] {
  return wanted.map((piece) => FIRST_PIECE + PIECES.indexOf(piece))
}
const plain = { add_special_tokens: false }

t.test('pieces merge in the order of their scores, spaces become U+2581', (t) => {
  const codec = load(sentencePieceOf(pieces))
  t.same(codec.encode('abc', plain).ids, idsOf('▁abc'))
  t.same(codec.encode('abc abc', plain).ids, idsOf('▁abc', '▁abc'))
  t.same(codec.encode('  ab', plain).ids, idsOf('▁', '▁', '▁a', 'b'))
  t.same(codec.encode('', plain).ids, [])
  t.end()
})

t.test('unknown characters fall back to bytes, and back again', (t) => {
  const codec = load(sentencePieceOf(pieces))
  const { ids } = codec.encode('a é', plain)
  t.same(ids, [...idsOf('▁a', '▁'), 3 + 0xc3, 3 + 0xa9])
  t.equal(codec.decode(ids), 'a é')
  t.end()
})

t.test('decoding drops the dummy prefix once and skips control pieces', (t) => {
  const codec = load(sentencePieceOf(pieces))
  t.equal(codec.decode([1, ...idsOf('▁', '▁abc'), 2], { skip_special_tokens: true }), ' abc')
  t.end()
})

t.test('control pieces are never read from text; <s> goes in front on request', (t) => {
  const codec = load(sentencePieceOf(pieces))
  t.same(codec.encode('</s>', plain).ids, idsOf('▁', '<', '/', 's', '>'))
  t.same(codec.encode('abc').ids, [1, ...idsOf('▁abc')])
  t.end()
})

t.test('without a dummy prefix nothing is put in front or stripped', (t) => {
  const codec = load(sentencePieceOf(pieces, {}, { add_dummy_prefix: false }))
  t.same(codec.encode('abc', plain).ids, idsOf('abc'))
  t.equal(codec.decode(idsOf('▁abc')), ' abc')
  t.end()
})

t.test('without byte fallback unknown characters become <unk>', (t) => {
  t.same(load(sentencePieceOf(pieces, { byte_fallback: false })).encode('aéé', plain).ids, [...idsOf('▁a'), 0])
  t.end()
})

t.test('size and ids of the vocabulary', (t) => {
  const { tokenizer } = convertSentencePiece(sentencePieceOf(pieces))
  t.equal(vocabularySize(tokenizer), FIRST_PIECE + PIECES.length)
  t.equal(tokenId(tokenizer, '</s>'), 2)
  t.equal(tokenId(tokenizer, 'toString'), undefined)
  t.end()
})

const REFUSED: readonly [string, Uint8Array, string, RegExp][] = [
  ['a unigram model', sentencePieceOf(pieces, { model_type: 1 }), 'unsupported', /type unigram, only bpe/],
  [
    'a model that normalises characters',
    sentencePieceOf(pieces, {}, { name: 'nmt_nfkc', precompiled_charsmap: Buffer.from('x') }),
    'unsupported',
    /nmt_nfkc/,
  ],
  [
    'a model that removes spaces',
    sentencePieceOf(pieces, {}, { remove_extra_whitespaces: true }),
    'unsupported',
    /remove_extra_whitespaces/,
  ],
  ['spaces behind words', sentencePieceOf(pieces, { treat_whitespace_as_suffix: true }), 'unsupported', /treat_whitespace_as_suffix/],
  ['unescaped spaces', sentencePieceOf(pieces, {}, { escape_whitespaces: false }), 'unsupported', /escape_whitespaces/],
  ['user-defined pieces', sentencePieceOf([...pieces, { piece: '<fim>', score: 0, type: 4 }]), 'unsupported', /user-defined piece "<fim>"/],
  ['a piece twice', sentencePieceOf([...pieces, { piece: 'a', score: -9, type: 1 }]), 'checkpoint_invalid', /1 pieces twice/],
  ['no pieces', sentencePieceOf([]), 'checkpoint_invalid', /pieces/],
  ['an unknown kind of piece', sentencePieceOf([{ piece: 'a', score: 0, type: 9 }]), 'checkpoint_invalid', /pieces\.0\.type/],
  ['bytes that are no model', Buffer.from('not a protobuf'), 'checkpoint_invalid', /no SentencePiece model .*; take the file/],
  ['a truncated model', sentencePieceOf(pieces).subarray(0, 500), 'checkpoint_invalid', /tokenizer\.model/],
  ['an empty file', new Uint8Array(0), 'checkpoint_invalid', /tokenizer\.model/],
]

for (const [what, bytes, code, message] of REFUSED) {
  t.test(`${what}: refused by name`, (t) => {
    t.throws(() => convertSentencePiece(bytes), { name: 'CodedError', code, message })
    t.end()
  })
}

for (const { what, folder, skip } of SENTENCEPIECE)
  t.test(`${what}: what SentencePiece makes of texts, line by line`, { skip }, (t) => {
    const codec = load(readFileSync(join(folder, 'tokenizer.model')))
    const lines = readFileSync(join(folder, 'golden.jsonl'), 'utf8').trim().split('\n')
    for (const [number, line] of lines.entries()) {
      const { text, ids, decoded } = JSON.parse(line) as { text: string; ids: number[]; decoded: string }
      t.same(codec.encode(text, plain).ids, ids, `ids of line ${number + 1}`)
      if (ids.length > 0) t.equal(codec.decode(ids, { skip_special_tokens: true }), decoded, `text of line ${number + 1}`)
    }
    t.end()
  })
