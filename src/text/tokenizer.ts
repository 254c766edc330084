import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Tokenizer as UntypedTokenizer } from '@huggingface/tokenizers'
import { CodedError, messageOf } from '../../base/errors.ts'
import { chatWrap, type ChatTemplate, type Turn, type Wrap } from './chat-template.ts'

/** What is used of the package, whose declarations Node's module resolution does not find (imports without extensions). */
interface JsonTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] }
  decode(ids: number[], options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean }): string
  get_vocab(withAddedTokens: boolean): Map<string, number>
}
const JsonTokenizer = UntypedTokenizer as unknown as new (definition: object, config: object) => JsonTokenizer

const TOKENIZER_FILE = 'tokenizer.json'
const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json'

/** Characters read per wanted token, at first: about twice what running text has, so that one attempt is enough. */
const CHARS_PER_TOKEN = 8
/** How many ids before the end of a cut text may differ from those of the whole: a piece that the cut broke, and what it merged with. */
const CUT_MARGIN_TOKENS = 64

/** Ids of the special tokens of a model, as its manifest states them. */
export interface SpecialTokens {
  readonly bosId: number | null
  readonly eosIds: readonly number[]
}

export interface Tokenizer {
  /**
   * Token ids of a text, without special tokens; `bos` puts the beginning-of-sequence id in front where the model has one.
   * `maxTokens` keeps the first ids (not counting BOS) and reads a long text no further than they need.
   */
  encode(text: string, options?: { readonly bos?: boolean; readonly maxTokens?: number }): number[]
  /** Text of token ids; special tokens are left out. */
  decode(ids: readonly number[]): string
  /** Every id whose own text contains `text`, and the end-of-sequence ids, ascending: generation stops at any of them. */
  stopIds(text: string): number[]
  /** What a chat template puts around a prompt. @throws unsupported where this model has none that can be used */
  chatWrap(template: ChatTemplate, earlier?: readonly Turn[]): Wrap
}

/**
 * Loads the tokenizer of a built model's folder (`tokenizer.json`, and `tokenizer_config.json` where present).
 * @throws model_invalid naming the file that is missing or unreadable
 */
export async function loadTokenizer(modelDir: string, special: SpecialTokens): Promise<Tokenizer> {
  const definition = await readObject(path.join(modelDir, TOKENIZER_FILE))
  const config = await readTokenizerConfig(modelDir)
  const tokenizer = construct(definition, config, path.join(modelDir, TOKENIZER_FILE))
  const stops = new Map<string, number[]>()

  const encodeAll = (text: string): number[] => tokenizer.encode(text, { add_special_tokens: false }).ids

  // Byte-pair merging takes more than linear time: 16 s for a megabyte of which 256 tokens are wanted.
  const encodeFirst = (text: string, wanted: number): number[] => {
    for (let length = (wanted + CUT_MARGIN_TOKENS) * CHARS_PER_TOKEN; length < text.length; length *= 2) {
      const ids = encodeAll(text.slice(0, length))
      if (ids.length >= wanted + CUT_MARGIN_TOKENS) return ids.slice(0, wanted)
    }
    return encodeAll(text).slice(0, wanted)
  }

  const decode = (ids: readonly number[]): string =>
    ids.length === 0 ? '' : tokenizer.decode([...ids], { skip_special_tokens: true, clean_up_tokenization_spaces: false })

  return {
    encode: (text, { bos = false, maxTokens } = {}) => {
      const ids = maxTokens === undefined ? encodeAll(text) : encodeFirst(text, maxTokens)
      return bos && special.bosId !== null ? [special.bosId, ...ids] : ids
    },
    decode,
    chatWrap: (template, earlier) => chatWrap(template, config, { putsBos: special.bosId !== null, earlier }),
    stopIds: (text) => {
      const known = stops.get(text)
      if (known) return [...known]
      const containing = [...tokenizer.get_vocab(true).values()].filter((id) => decode([id]).includes(text))
      const ids = [...new Set([...containing, ...special.eosIds])].sort((a, b) => a - b)
      stops.set(text, ids)
      return [...ids]
    },
  }
}

/** `tokenizer_config.json` of a built model's folder, empty where there is none. @throws model_invalid for one that is unreadable */
export function readTokenizerConfig(modelDir: string): Promise<Readonly<Record<string, unknown>>> {
  return readObject(path.join(modelDir, TOKENIZER_CONFIG_FILE), {})
}

function construct(definition: object, config: object, file: string): JsonTokenizer {
  try {
    return new JsonTokenizer(definition, config)
  } catch (error) {
    throw new CodedError('model_invalid', `${file} is not a tokenizer this version reads (${messageOf(error)}); build the model again.`, {
      field: file,
      cause: error,
    })
  }
}

async function readObject(file: string, fallback?: object): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('it holds no JSON object')
    return value as Readonly<Record<string, unknown>>
  } catch (error) {
    if (fallback && error instanceof Error && 'code' in error && error.code === 'ENOENT') return { ...fallback }
    throw new CodedError('model_invalid', `Cannot read ${file}: ${messageOf(error)}. Build the model again.`, { field: file, cause: error })
  }
}
