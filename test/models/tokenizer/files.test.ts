import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../models/checkpoint/config/parse.ts'
import { openTokenizer } from '../../../models/tokenizer/codec.ts'
import { fitTokenizer, requiredTokenId, tokenizerFiles } from '../../../models/tokenizer/files.ts'
import { vocabularySize, type TokenizerFiles } from '../../../models/tokenizer/tokenizer-json.ts'
import { CEPE_CONFIG, CONTRIEVER_CONFIG, LLAMA_CONFIG, writeFolder } from '../../fixtures/checkpoint-folder.ts'
import { bpePieces, sentencePieceOf } from '../../fixtures/sentencepiece.ts'

function encode(files: TokenizerFiles, text: string): number[] {
  return openTokenizer(files).encode(text).ids
}

const wordPiece = '[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\nwor\n##ld\nhe\n,\nHello\n'
function json(size: number, added: readonly { id: number; content: string }[] = []) {
  return {
    version: '1.0',
    truncation: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: null,
    decoder: null,
    model: {
      type: 'WordPiece',
      unk_token: 'w0',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(Array.from({ length: size }, (_, i) => [`w${i}`, i])),
    },
  }
}
function load(t: { testdir(): string }, files: Parameters<typeof writeFolder>[1]): Promise<TokenizerFiles> {
  return tokenizerFiles(writeFolder(join(t.testdir(), 'model'), files))
}

t.test("SentencePiece's tokenizer keeps the chat template that lies beside it", async (t) => {
  const sentencePiece = sentencePieceOf(bpePieces('a', 'b'))
  const beside = { chat_template: '[INST] {{ messages[0].content }} [/INST]', model_max_length: 7 }
  const { config } = await load(t, { 'tokenizer.model': sentencePiece, 'tokenizer_config.json': beside })
  t.equal(config['chat_template'], beside.chat_template)
  t.not(config['model_max_length'], 7, 'the rest is made from the tokenizer itself')
  t.notOk('chat_template' in (await load(t, { 'tokenizer.model': sentencePiece })).config)
})

t.test("tokens that a folder adds to SentencePiece's are found in a text", async (t) => {
  const [sentencePiece, first] = [sentencePieceOf(bpePieces('▁', 'x', '▁x')), 262]
  const added = { '1': { content: '<s>', special: true }, [first]: { content: '<|turn|>', special: true } }
  const files = await load(t, { 'tokenizer.model': sentencePiece, 'tokenizer_config.json': { added_tokens_decoder: added } })
  t.same(
    encode(files, 'x<|turn|>x').filter((id) => id === first),
    [first],
  )
  t.same(
    files.tokenizer.added_tokens.map(({ id }) => id),
    [first],
    'pieces stay as they are',
  )
})

t.test("tokens of an earlier folder's added_tokens.json are found in a text", async (t) => {
  const model = sentencePieceOf(bpePieces('▁', 'x', '▁x'))
  const older = { 'tokenizer.model': model, 'added_tokens.json': { '<|turn|>': 262, '<s>': 1 } }
  t.same(
    encode(await load(t, older), 'x<|turn|>x').filter((id) => id === 262),
    [262],
  )
  const newer = await load(t, { ...older, 'tokenizer_config.json': { added_tokens_decoder: {} } })
  t.same(newer.tokenizer.added_tokens, [], 'tokenizer_config.json goes before it')
  await t.rejects(load(t, { ...older, 'added_tokens.json': { '<|turn|>': 'no id' } }), {
    code: 'checkpoint_invalid',
    message: /added_tokens\.json: <\|turn\|> must be integer/,
  })
})

t.test('chat_template.jinja goes before the template of tokenizer_config.json', async (t) => {
  const files = { 'tokenizer.json': json(5), 'tokenizer_config.json': { chat_template: 'old' }, 'chat_template.jinja': 'new' }
  t.same((await load(t, files)).config, { chat_template: 'new' })
})

t.test('tokenizer.json goes first and is handed on whole', async (t) => {
  const files = await load(t, { 'tokenizer.json': json(5), 'tokenizer_config.json': { model_max_length: 512 }, 'vocab.txt': wordPiece })
  t.same(files.tokenizer, json(5))
  t.same(files.config, { model_max_length: 512 })
  t.same(encode(files, 'w3 w4'), [3, 4])
})

t.test('tokenizer.model alone is converted', async (t) => {
  t.same(encode(await load(t, { 'tokenizer.model': sentencePieceOf(bpePieces('▁', 'x', '▁x')) }), 'x'), [1, 261])
})

t.test("BERT's vocab.txt alone is converted: lower case, no accents, [CLS] and [SEP]", async (t) => {
  const files = await load(t, { 'vocab.txt': wordPiece })
  t.same(encode(files, 'Héllo, world zzz'), [2, 4, 8, 5, 6, 1, 3])
  t.equal(requiredTokenId(files.tokenizer, '[CLS]'), 2)
  t.throws(() => requiredTokenId(files.tokenizer, '[MASK]'), { code: 'checkpoint_invalid', message: /no token \[MASK\]/ })
})

t.test('do_lower_case false keeps the case', async (t) => {
  const files = await load(t, { 'vocab.txt': wordPiece.replaceAll('\n', '\r\n'), 'tokenizer_config.json': { do_lower_case: false } })
  t.same(encode(files, 'Hello hello'), [2, 9, 4, 3])
})

t.test('accents are kept, and Chinese characters joined, if tokenizer_config.json asks for it', async (t) => {
  const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'ü', 'u', '中文'].join('\n')
  const kept = { strip_accents: false, tokenize_chinese_chars: false }
  t.same(encode(await load(t, { 'vocab.txt': vocabulary, 'tokenizer_config.json': kept }), 'Ü 中文'), [2, 4, 6, 3])
  t.same(encode(await load(t, { 'vocab.txt': vocabulary }), 'Ü 中文'), [2, 5, 1, 1, 3])
})

const REFUSED: readonly [string, Parameters<typeof writeFolder>[1], RegExp][] = [
  ['a folder without a tokenizer', {}, /no tokenizer; expected tokenizer\.json, tokenizer\.model or vocab\.txt/],
  ['a tokenizer.json without a model', { 'tokenizer.json': { ...json(1), model: undefined } }, /tokenizer\.json.*model/],
  [
    'a negative id',
    { 'tokenizer.json': { ...json(1), model: { type: 'BPE', vocab: { a: -1 } } } },
    /tokenizer\.json .*type BPE\): model\.vocab\.a must be/,
  ],
  [
    'BPE without merges',
    { 'tokenizer.json': { ...json(1), model: { type: 'BPE', vocab: { a: 0 } } } },
    /type BPE\): model\.merges is missing\. Take the file/,
  ],
  [
    'Unigram without a token for the unknown',
    { 'tokenizer.json': { ...json(1), model: { type: 'Unigram', unk_id: null, vocab: [['a', -1]] } } },
    /model\/tokenizer\.json .*type Unigram\): model\.unk_id must be/,
  ],
  [
    'Unigram with a vocabulary of another kind',
    { 'tokenizer.json': { ...json(1), model: { type: 'Unigram', unk_id: 0, vocab: { a: 0 } } } },
    /type Unigram\): model\.vocab must be a list/,
  ],
  [
    'a tokenizer.json that the reader does not know',
    { 'tokenizer.json': { ...json(1), normalizer: { type: 'Rot13' } } },
    /tokenizer\.json is no tokenizer .*type WordPiece\): .*Rot13.*save it again/,
  ],
  ['broken JSON', { 'tokenizer.json': '{' }, /tokenizer\.json is not JSON: .*; take the file/],
  ['a vocabulary without [CLS]', { 'vocab.txt': '[PAD]\n[UNK]\n[SEP]\n' }, /lacks the token \[CLS\]/],
  [
    'a vocabulary of another encoding',
    { 'vocab.txt': Buffer.from(`${wordPiece}caf\u00e9\n`, 'latin1') },
    /vocab\.txt is not UTF-8; take the file/,
  ],
  [
    'a chat template of another encoding',
    { 'tokenizer.json': json(1), 'chat_template.jinja': Buffer.from('R\u00e9ponse', 'latin1') },
    /chat_template\.jinja is not UTF-8/,
  ],
  ['a repeated token', { 'vocab.txt': `${wordPiece}he\n` }, /line 11 repeats the token "he" of line 8/],
]

for (const [what, files, message] of REFUSED) {
  t.test(`${what} is refused`, (t) => t.rejects(load(t, files), { name: 'CodedError', code: 'checkpoint_invalid', message }))
}

t.test('a tokenizer must stay inside the vocabulary of the weights', async (t) => {
  const llama = parseConfig(LLAMA_CONFIG)
  const fitting = await load(t, { 'tokenizer.json': json(11) })
  t.same(fitTokenizer(fitting, llama), fitting)
  const larger = await load(t, { 'tokenizer.json': json(12) })
  t.throws(() => fitTokenizer(larger, llama), { code: 'checkpoint_invalid', message: /ids up to 11, config\.json a vocabulary of 11/ })
  t.throws(
    () => fitTokenizer(larger, parseConfig(CEPE_CONFIG)),
    { code: 'checkpoint_invalid' },
    "the encoder's larger vocabulary does not help the decoder",
  )
  t.throws(() => fitTokenizer(fitting, parseConfig(CONTRIEVER_CONFIG)), { code: 'checkpoint_invalid' })
})

t.test("the encoder's padding token, outside the decoder's vocabulary, is dropped", async (t) => {
  const files = await load(t, { 'tokenizer.json': json(11, [{ id: 11, content: '<pad>' }]) })
  t.equal(vocabularySize(files.tokenizer), 12)
  const fitted = fitTokenizer(files, parseConfig(CEPE_CONFIG))
  t.equal(vocabularySize(fitted.tokenizer), 11)
  t.same(encode(fitted, '<pad>'), [0])
  t.throws(() => fitTokenizer(files, parseConfig(LLAMA_CONFIG)), { code: 'checkpoint_invalid' }, 'a decoder alone has no such row')
})
