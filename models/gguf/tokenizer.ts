import { at, given } from '../../base/at.ts'
import { invalid, unsupported } from '../errors.ts'
import { checkedTokenizer } from '../tokenizer/check.ts'
import { MODEL_TYPE, PIECE_TYPE } from '../tokenizer/sentencepiece-model.ts'
import { bpeModel, SPACE, convertPieces, postProcessorOf } from '../tokenizer/sentencepiece.ts'
import type { TokenizerConfig, TokenizerFiles, TokenizerJson } from '../tokenizer/tokenizer-json.ts'
import { addsBos } from './config.ts'
import { type Metadata, booleanIn, numberIn, numbersIn, stringIn, stringsIn } from './metadata.ts'

/** Maps bytes to characters; splits words by GPT-2's pattern, or not at all. */
function byteLevel(words: boolean): object {
  return { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: words }
}

/** Splits words by LLaMA 3's pattern with a maximum number of digits; line breaks belong to what precedes them. */
function wordsOf(digits: string): object {
  const words = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
  const split = { type: 'Split', pattern: { Regex: words }, behavior: 'Isolated', invert: false }
  return { type: 'Sequence', pretokenizers: [split, byteLevel(false)] }
}

/** Splits every numeric character. The format's `Digits` matches only 0 to 9 in the package used here. */
const NUMBERS_APART = { type: 'Split', pattern: { Regex: '\\p{N}' }, behavior: 'Isolated', invert: false }

interface PreTokenizer {
  /** Parts of tokenizer.json. */
  readonly normalizer?: object
  readonly pre_tokenizer: object
  /** Whole words of the vocabulary are used without merging. */
  readonly ignore_merges: boolean
}

const GPT2: PreTokenizer = { pre_tokenizer: byteLevel(true), ignore_merges: false }

const BY_NAME: ReadonlyMap<string, PreTokenizer> = new Map([
  ['default', GPT2],
  ['gpt-2', GPT2],
  ['smollm', { pre_tokenizer: { type: 'Sequence', pretokenizers: [NUMBERS_APART, byteLevel(true)] }, ignore_merges: false }],
  ['llama-bpe', { pre_tokenizer: wordsOf('\\p{N}{1,3}'), ignore_merges: true }],
  ['qwen2', { normalizer: { type: 'NFC' }, pre_tokenizer: wordsOf('\\p{N}'), ignore_merges: false }],
])

/** The pre-tokenizer of a name in tokenizer.ggml.pre. @throws unsupported for an unknown one: a guess would give other tokens */
function preTokenizer(name: string): PreTokenizer {
  const known = BY_NAME.get(name)
  if (known !== undefined) return known
  const message = `metadata tokenizer.ggml.pre is ${JSON.stringify(name)}; supported are ${[...BY_NAME.keys()].join(', ')}: build from the Hugging Face folder of the model instead`
  throw unsupported(message, 'tokenizer.ggml.pre')
}

const KEY = 'tokenizer.ggml'
const REMEDY = 'convert the model again'

interface Token {
  readonly text: string
  /** PIECE_TYPE */
  readonly type: number
}

function tokensOf(metadata: Metadata): readonly Token[] {
  const texts = stringsIn(metadata, `${KEY}.tokens`)
  if (texts === undefined || texts.length === 0) throw invalid(`metadata ${KEY}.tokens is missing; ${REMEDY}`, `${KEY}.tokens`)
  const types = numbersIn(metadata, `${KEY}.token_type`) ?? texts.map(() => PIECE_TYPE.normal)
  if (types.length !== texts.length)
    throw invalid(`metadata ${KEY}.token_type has ${types.length} entries, ${KEY}.tokens ${texts.length}; ${REMEDY}`, `${KEY}.token_type`)
  return texts.map((text, id) => ({ text, type: types[id] ?? PIECE_TYPE.normal }))
}

function namedToken(metadata: Metadata, role: 'bos' | 'eos' | 'unknown' | 'padding', tokens: readonly Token[]): string | undefined {
  const key = `${KEY}.${role}_token_id`
  const id = numberIn(metadata, key)
  if (id === undefined) return undefined
  const token = tokens[id]
  if (token === undefined) throw invalid(`metadata ${key} is ${id}, the vocabulary has ${tokens.length} tokens; ${REMEDY}`, key)
  return token.text
}

/** Tokens that are matched in text before it is split into words. */
function addedTokens(tokens: readonly Token[], types: readonly number[]): TokenizerJson['added_tokens'] {
  return tokens.flatMap(({ text, type }, id) => {
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: type === PIECE_TYPE.control }
    return types.includes(type) && text !== '' ? [{ id, content: text, ...flags }] : []
  })
}

function mergesOf(metadata: Metadata, vocabulary: Readonly<Record<string, number>>): [string, string][] {
  const key = `${KEY}.merges`
  const merges = stringsIn(metadata, key)
  if (merges === undefined) throw invalid(`metadata ${key} is missing; ${REMEDY}`, key)
  return merges.map((merge, rank) => {
    const [left = '', right = '', ...rest] = merge.split(' ')
    if (rest.length > 0 || ![left, right, left + right].every((token) => Object.hasOwn(vocabulary, token)))
      throw invalid(
        `metadata ${key} has the entry ${JSON.stringify(merge)} at ${rank}, which joins no two tokens to a third; ${REMEDY}`,
        key,
      )
    return [left, right]
  })
}

function byteLevelBpe(metadata: Metadata, tokens: readonly Token[]): TokenizerJson {
  const vocab = Object.fromEntries(tokens.map(({ text }, id) => [text, id]))
  if (Object.keys(vocab).length !== tokens.length) throw invalid(`metadata ${KEY}.tokens holds a token twice; ${REMEDY}`, `${KEY}.tokens`)
  const { normalizer = null, pre_tokenizer, ignore_merges } = preTokenizer(stringIn(metadata, `${KEY}.pre`) ?? 'default')
  return {
    added_tokens: addedTokens(tokens, [PIECE_TYPE.control, PIECE_TYPE.userDefined]),
    normalizer,
    pre_tokenizer,
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: bpeModel({ ignore_merges, vocab, merges: mergesOf(metadata, vocab) }),
  }
}

/** User-defined pieces (line breaks, runs of spaces, tags) are matched in text first, as in SentencePiece. */
function sentencePiece(metadata: Metadata, tokens: readonly Token[], path: string): TokenizerFiles {
  const scores = numbersIn(metadata, `${KEY}.scores`)
  if (scores?.length !== tokens.length)
    throw invalid(`metadata ${KEY}.scores has ${scores?.length ?? 0} entries, ${KEY}.tokens ${tokens.length}; ${REMEDY}`, `${KEY}.scores`)
  const pieces = tokens.map(({ text, type }, id) => ({ piece: text, score: at(scores, id), type }))
  const converted = convertPieces(
    {
      pieces,
      trainer_spec: {
        model_type: MODEL_TYPE.bpe,
        treat_whitespace_as_suffix: false,
        byte_fallback: tokens.some(({ type }) => type === PIECE_TYPE.byte),
      },
      normalizer_spec: {
        name: 'precompiled_charsmap',
        precompiled_charsmap: Uint8Array.from(numbersIn(metadata, `${KEY}.precompiled_charsmap`) ?? []),
        add_dummy_prefix: booleanIn(metadata, `${KEY}.add_space_prefix`) ?? true,
        remove_extra_whitespaces: booleanIn(metadata, `${KEY}.remove_extra_whitespaces`) ?? false,
        escape_whitespaces: true,
      },
    },
    path,
  )
  // Gemma's turn markers are control pieces that its prompts contain as text.
  const isGemma = stringIn(metadata, 'general.architecture')?.startsWith('gemma') === true
  const found = isGemma ? [PIECE_TYPE.userDefined, PIECE_TYPE.control] : [PIECE_TYPE.userDefined]
  // Earlier converters wrote runs of spaces as pieces have them.
  const written = tokens.map(({ text, type }) => ({ type, text: text.replaceAll(SPACE, ' ') }))
  return { ...converted, tokenizer: { ...converted.tokenizer, added_tokens: addedTokens(written, found) } }
}

function converted(metadata: Metadata, tokens: readonly Token[], path: string): TokenizerFiles {
  const kind = stringIn(metadata, `${KEY}.model`)
  if (kind === 'llama') return sentencePiece(metadata, tokens, path)
  if (kind === 'gpt2') return { tokenizer: byteLevelBpe(metadata, tokens), config: { clean_up_tokenization_spaces: false } }
  const message = `metadata ${KEY}.model is ${JSON.stringify(kind ?? null)}; supported are "gpt2" (byte-level BPE) and "llama" (SentencePiece BPE): build from the Hugging Face folder of the model instead`
  throw unsupported(message, `${KEY}.model`)
}

/**
 * Converts the tokenizer in a GGUF file's metadata to tokenizer.json and tokenizer_config.json, including its chat template; BOS is added
 * if the metadata asks for it.
 * @returns null for a file without one: `no_vocab`, or none at all
 * @throws checkpoint_invalid and unsupported, naming the metadata, the problem and the remedy
 */
export function ggufTokenizer(metadata: Metadata, path: string): TokenizerFiles | null {
  const kind = metadata.get(`${KEY}.model`)
  if (kind === undefined || kind === 'no_vocab') return null
  const tokens = tokensOf(metadata)
  const files = converted(metadata, tokens, path)
  const bos = namedToken(metadata, 'bos', tokens)
  const withBos = addsBos(metadata) && bos !== undefined
  const tokenizer: TokenizerJson = {
    ...files.tokenizer,
    post_processor: withBos ? postProcessorOf(bos, numberIn(metadata, `${KEY}.bos_token_id`) ?? 0) : null,
  }
  const config: TokenizerConfig = {
    ...files.config,
    add_bos_token: withBos,
    ...given({
      bos_token: bos,
      eos_token: namedToken(metadata, 'eos', tokens),
      unk_token: namedToken(metadata, 'unknown', tokens),
      pad_token: namedToken(metadata, 'padding', tokens),
      chat_template: stringIn(metadata, 'tokenizer.chat_template'),
    }),
  }
  return { tokenizer: checkedTokenizer(tokenizer, config, path), config }
}
