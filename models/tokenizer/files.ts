import { join } from 'node:path'
import { Type } from 'typebox'
import type { ModelConfig } from '../checkpoint/config/config.ts'
import { parseAs, readJson, readSmallFile, readText } from '../checkpoint/config/json.ts'
import { invalid } from '../errors.ts'
import { checkedTokenizer } from './check.ts'
import { openTokenizer } from './codec.ts'
import { convertSentencePiece } from './sentencepiece.ts'
import {
  TokenizerConfigSchema,
  tokenId,
  vocabularySize,
  type TokenizerConfig,
  type TokenizerFiles,
  type TokenizerJson,
} from './tokenizer-json.ts'
import { convertWordPiece } from './wordpiece.ts'
import { messageOf, orThrow } from '../../base/errors.ts'

/** Tokens that tokenizer_config.json adds to a vocabulary, by their ids. */
const AddedSchema = Type.Object({
  added_tokens_decoder: Type.Optional(Type.Record(Type.String(), Type.Object({ content: Type.String() }))),
})
/** Where earlier folders have them: ids by their texts. */
const OLDER = 'added_tokens.json'
const OlderSchema = Type.Record(Type.String(), Type.Integer({ minimum: 0 }))

async function convertedTokenizer(dir: string, config: TokenizerConfig): Promise<TokenizerFiles> {
  const sentencePiece = await readSmallFile(join(dir, 'tokenizer.model'))
  if (sentencePiece !== undefined) {
    const converted = convertSentencePiece(sentencePiece)
    const { added_tokens_decoder: added } = parseAs(AddedSchema, config, 'tokenizer_config.json')
    const older = Object.entries(parseAs(OlderSchema, (await readJson(join(dir, OLDER))) ?? {}, OLDER))
    const all = added
      ? Object.entries(added).map(([id, token]) => ({ id: Number(id), ...token }))
      : older.map(([content, id]) => ({ id, content, normalized: false }))
    const known = new Set(Object.values(converted.tokenizer.model.vocab))
    const further = all.filter(({ id }) => !known.has(id))
    // Settings that SentencePiece's file cannot contain: the chat template, and whether to add BOS.
    const kept = Object.entries(config).filter(([name]) => name === 'chat_template' || name === 'add_bos_token')
    const tokenizer = { ...converted.tokenizer, added_tokens: [...converted.tokenizer.added_tokens, ...further] }
    return { tokenizer, config: { ...converted.config, ...Object.fromEntries(kept) } }
  }
  const vocabulary = await readText(join(dir, 'vocab.txt'))
  if (vocabulary !== undefined) return convertWordPiece(vocabulary, config)
  throw invalid(`${dir} has no tokenizer; expected tokenizer.json, tokenizer.model or vocab.txt`, dir)
}

/**
 * Loads the tokenizer of a checkpoint folder as the two objects to write into a built model: tokenizer.json if present, else converted from
 * SentencePiece's tokenizer.model or BERT's vocab.txt.
 * @throws checkpoint_invalid if there is none, or one that @huggingface/tokenizers does not support; unsupported for a SentencePiece kind
 * without conversion
 */
export async function tokenizerFiles(dir: string): Promise<TokenizerFiles> {
  const configValue = await readJson(join(dir, 'tokenizer_config.json'))
  const stated = configValue === undefined ? {} : parseAs(TokenizerConfigSchema, configValue, 'tokenizer_config.json')
  const template = await readText(join(dir, 'chat_template.jinja'))
  // transformers 5 writes the chat template to a file of its own, which takes precedence.
  const config = template === undefined ? stated : { ...stated, chat_template: template }
  const file = join(dir, 'tokenizer.json')
  const json = await readJson(file)
  if (json !== undefined) return { tokenizer: checkedTokenizer(json, config, file), config }
  const files = await convertedTokenizer(dir, config)
  orThrow(
    () => openTokenizer(files),
    (thrown) => invalid(`the tokenizer of ${dir} cannot be used: ${messageOf(thrown)}`, dir),
  )
  return files
}

/**
 * Restricts the tokenizer to the model's vocabulary. One tokenizer serves CEPE's decoder and encoder; the encoder has one more row, for
 * padding: an added token with that id is dropped, because in text it would reach the decoder.
 * @throws checkpoint_invalid if any other id has no row, so that tokenizer and weights do not match
 */
export function fitTokenizer(files: TokenizerFiles, config: ModelConfig): TokenizerFiles {
  const matrices = config.architecture === 'cepe' ? [config.decoder, config.encoder ?? config.decoder] : [config]
  const rows = matrices.map(({ vocabSize }) => vocabSize)
  const [least, most] = [Math.min(...rows), Math.max(...rows)]
  const added = files.tokenizer.added_tokens.filter(({ id }) => id < least || id >= most)
  const tokenizer: TokenizerJson = { ...files.tokenizer, added_tokens: added }
  const size = vocabularySize(tokenizer)
  const message = `the tokenizer has ids up to ${size - 1}, config.json a vocabulary of ${least}; they do not belong together: take both files from one checkpoint`
  if (size > least) throw invalid(message, 'vocab_size')
  return { ...files, tokenizer }
}

/** The id of a required token such as [CLS]. @throws checkpoint_invalid if the tokenizer lacks it */
export function requiredTokenId(tokenizer: TokenizerJson, token: string): number {
  const id = tokenId(tokenizer, token)
  if (id === undefined) throw invalid(`the tokenizer has no token ${token}, which the model needs`, token)
  return id
}
