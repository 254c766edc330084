import { unsupported } from '../errors.ts'

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
  [
    'smollm',
    {
      pre_tokenizer: { type: 'Sequence', pretokenizers: [NUMBERS_APART, byteLevel(true)] },
      ignore_merges: false,
    },
  ],
  [
    'llama-bpe',
    {
      pre_tokenizer: wordsOf('\\p{N}{1,3}'),
      ignore_merges: true,
    },
  ],
  ['qwen2', { normalizer: { type: 'NFC' }, pre_tokenizer: wordsOf('\\p{N}'), ignore_merges: false }],
])

/** The pre-tokenizer of a name in tokenizer.ggml.pre. @throws unsupported for an unknown one: a guess would give other tokens */
export function preTokenizer(name: string): PreTokenizer {
  const known = BY_NAME.get(name)
  if (known !== undefined) return known
  throw unsupported(
    `metadata tokenizer.ggml.pre is ${JSON.stringify(name)}; supported are ${[...BY_NAME.keys()].join(', ')}: build from the Hugging Face folder of the model instead`,
    'tokenizer.ggml.pre',
  )
}
