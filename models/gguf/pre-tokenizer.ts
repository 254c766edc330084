import { unsupported } from '../errors.ts'

/** How bytes become characters; cut into words by GPT-2's pattern, or not. */
function byteLevel(words: boolean): object {
  return { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: words }
}

/** LLaMA 3's pattern: numbers in threes, line breaks with what is before them. */
const LLAMA3_WORDS =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/** Every numeric character on its own. The format's `Digits` knows 0 to 9 alone in the package that reads it here. */
const NUMBERS_APART = { type: 'Split', pattern: { Regex: '\\p{N}' }, behavior: 'Isolated', invert: false }

interface PreTokenizer {
  /** Parts of tokenizer.json. */
  readonly pre_tokenizer: object
  /** Whole words of the vocabulary are taken as they are, without merging. */
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
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [{ type: 'Split', pattern: { Regex: LLAMA3_WORDS }, behavior: 'Isolated', invert: false }, byteLevel(false)],
      },
      ignore_merges: true,
    },
  ],
])

/** The pre-tokenizer of a name in tokenizer.ggml.pre. @throws unsupported for one that is not known: a guess would give other tokens. */
export function preTokenizer(name: string): PreTokenizer {
  const known = BY_NAME.get(name)
  if (known !== undefined) return known
  throw unsupported(
    `metadata tokenizer.ggml.pre is ${JSON.stringify(name)}; supported are ${[...BY_NAME.keys()].join(', ')}: build from the Hugging Face folder of the model instead`,
    'tokenizer.ggml.pre',
  )
}
