import path from 'node:path'
import { keptOrMade } from '../../base/at.ts'
import { type CodedError, invalidModel, osCode, reasonOf, orThrow } from '../../base/errors.ts'
import { readRegular } from '../../base/exists.ts'
import { isObject } from '../../base/json.ts'
import { openTokenizer } from '../../models/tokenizer/codec.ts'
import type { CepeManifest } from '../../models/manifest.ts'
import { chatWrap, type ChatTemplate, type Turn } from './chat-template.ts'

const TOKENIZER_FILE = 'tokenizer.json'
const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json'

/** Initial estimate of characters per token: about twice that of running text, so that one attempt suffices. */
const CHARS_PER_TOKEN = 8
/** Ids at the end of a truncated text that may differ from those of the whole: a split token, and its merges. */
const CUT_MARGIN_TOKENS = 64

export type Tokenizer = Awaited<ReturnType<typeof loadTokenizer>>

/**
 * Loads the tokenizer of a built model's folder (`tokenizer.json`, and `tokenizer_config.json` if present).
 * @throws model_invalid naming the missing or unreadable file
 */
export async function loadTokenizer(
  modelDir: string,
  { bos_id: bosId, eos_ids: eosIds }: Pick<CepeManifest['tokens'], 'bos_id' | 'eos_ids'> = { bos_id: null, eos_ids: [] },
) {
  const file = path.join(modelDir, TOKENIZER_FILE)
  const files = { tokenizer: await readObject(file), config: await readTokenizerConfig(modelDir) }
  const tokenizer = orThrow(
    () => openTokenizer(files),
    (error) => invalidModel(file, `${file} is not a tokenizer this version reads (${reasonOf(error)}); build the model again.`, error),
  )
  const stops = new Map<string, number[]>()

  const encodeAll = (text: string): number[] => tokenizer.encode(text, { add_special_tokens: false }).ids

  // Byte-pair merging is superlinear: 16 s for a megabyte of which 256 tokens are needed.
  const encodeFirst = (text: string, wanted: number): number[] => {
    for (let length = (wanted + CUT_MARGIN_TOKENS) * CHARS_PER_TOKEN; length < text.length; length *= 2) {
      const ids = encodeAll(text.slice(0, length))
      if (ids.length >= wanted + CUT_MARGIN_TOKENS) return ids.slice(0, wanted)
    }
    return encodeAll(text).slice(0, wanted)
  }

  /** Text of token ids, without special tokens. */
  const decode = (ids: readonly number[]): string =>
    ids.length === 0 ? '' : tokenizer.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false })

  return {
    bosId,
    /**
     * Token ids of a text, without special tokens; `bos` adds the beginning-of-sequence id if the model has one. `maxTokens` keeps the first
     * ids (not counting BOS) and reads no more of a long text than needed.
     */
    encode: (text: string, { bos = false, maxTokens }: { readonly bos?: boolean; readonly maxTokens?: number } = {}): number[] => {
      const ids = maxTokens === undefined ? encodeAll(text) : encodeFirst(text, maxTokens)
      return bos && bosId !== null ? [bosId, ...ids] : ids
    },
    decode,
    /** Renders a chat template. @throws unsupported if the model has no usable one */
    chatWrap: (template: ChatTemplate, earlier?: readonly Turn[]) => chatWrap(template, files.config, bosId !== null, earlier),
    /** All ids whose text contains `text`, and the end-of-sequence ids, ascending: generation stops at any of them. */
    stopIds: (text: string): number[] => {
      const containing = () => [...tokenizer.get_vocab(true).values()].filter((id) => decode([id]).includes(text))
      return [...keptOrMade(stops, text, () => [...new Set([...containing(), ...eosIds])].sort((a, b) => a - b))]
    },
  }
}

/** Reads `tokenizer_config.json` of a built model's folder; empty if there is none. @throws model_invalid if it is unreadable */
export function readTokenizerConfig(modelDir: string): Promise<Readonly<Record<string, unknown>>> {
  return readObject(path.join(modelDir, TOKENIZER_CONFIG_FILE), {})
}

export function noTokenizer(modelDir: string): CodedError {
  const message = `${modelDir} was built from a checkpoint without tokenizer, so it cannot be served. Add tokenizer.json or vocab.txt to the checkpoint and build it again.`
  return invalidModel(undefined, message)
}

async function readObject(file: string, fallback?: object): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = JSON.parse(String(await readRegular(file)))
    if (!isObject(value)) throw new TypeError('it is not a JSON object')
    return value
  } catch (error) {
    if (fallback && osCode(error) === 'ENOENT') return { ...fallback }
    throw invalidModel(file, `Cannot read ${file}: ${reasonOf(error)}. Build the model again.`, error)
  }
}
