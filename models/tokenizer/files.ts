import { join } from 'node:path'
import type { ModelConfig } from '../checkpoint/config.ts'
import { parseAs, readJson, readSmallFile } from '../checkpoint/json.ts'
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
import { messageOf } from '../../base/errors.ts'

async function convertedTokenizer(dir: string, config: TokenizerConfig): Promise<TokenizerFiles> {
  const sentencePiece = await readSmallFile(join(dir, 'tokenizer.model'))
  if (sentencePiece !== undefined) {
    const converted = convertSentencePiece(sentencePiece)
    // What SentencePiece's file cannot hold: how chat models want their prompts, and whether BOS goes in front.
    const kept = Object.entries(config).filter(([name]) => name === 'chat_template' || name === 'add_bos_token')
    return { ...converted, config: { ...converted.config, ...Object.fromEntries(kept) } }
  }
  const vocabulary = await readSmallFile(join(dir, 'vocab.txt'))
  if (vocabulary !== undefined) return convertWordPiece(new TextDecoder().decode(vocabulary), config['do_lower_case'] !== false)
  throw invalid(`${dir} has no tokenizer; expected tokenizer.json, tokenizer.model or vocab.txt`, dir)
}

/**
 * The tokenizer of a checkpoint folder, as the two objects to write into a built model: tokenizer.json where there is one,
 * else converted from SentencePiece's tokenizer.model or BERT's vocab.txt.
 * @throws checkpoint_invalid when there is none, or one that @huggingface/tokenizers does not read; unsupported for a
 * SentencePiece kind that is not converted.
 */
export async function tokenizerFiles(dir: string): Promise<TokenizerFiles> {
  const configValue = await readJson(join(dir, 'tokenizer_config.json'))
  const stated = configValue === undefined ? {} : parseAs(TokenizerConfigSchema, configValue, 'tokenizer_config.json')
  const template = await readSmallFile(join(dir, 'chat_template.jinja'))
  // transformers 5 writes the chat template into a file of its own, which goes before the older place.
  const config = template === undefined ? stated : { ...stated, chat_template: new TextDecoder().decode(template) }
  const file = join(dir, 'tokenizer.json')
  const json = await readJson(file)
  if (json !== undefined) return { tokenizer: checkedTokenizer(json, config, file), config }
  const files = await convertedTokenizer(dir, config)
  try {
    openTokenizer(files)
  } catch (thrown) {
    throw invalid(`the tokenizer of ${dir} cannot be used: ${messageOf(thrown)}`, dir)
  }
  return files
}

/** Rows of the smallest embedding matrix that token ids index, and of the largest. */
function embeddingRows(config: ModelConfig): { least: number; most: number } {
  if (config.architecture !== 'cepe') return { least: config.vocabSize, most: config.vocabSize }
  const rows = [config.decoder.vocabSize, config.encoder?.vocabSize ?? config.decoder.vocabSize]
  return { least: Math.min(...rows), most: Math.max(...rows) }
}

/**
 * The tokenizer, known to stay inside the model's vocabulary. One tokenizer serves CEPE's decoder and encoder; the encoder
 * has one row more, for padding: an added token of that id is dropped, because in text it would reach the decoder.
 * @throws checkpoint_invalid when any other id has no row, so that tokenizer and weights do not belong together.
 */
export function fitTokenizer(files: TokenizerFiles, config: ModelConfig): TokenizerFiles {
  const { least, most } = embeddingRows(config)
  const added = files.tokenizer.added_tokens.filter(({ id }) => id < least || id >= most)
  const tokenizer: TokenizerJson = { ...files.tokenizer, added_tokens: added }
  const size = vocabularySize(tokenizer)
  if (size > least) {
    throw invalid(
      `the tokenizer has ids up to ${size - 1}, config.json a vocabulary of ${least}; they do not belong together`,
      'vocab_size',
    )
  }
  return { ...files, tokenizer }
}

/** The id of a token that the model cannot do without, such as [CLS]. @throws checkpoint_invalid when the tokenizer lacks it. */
export function requiredTokenId(tokenizer: TokenizerJson, token: string): number {
  const id = tokenId(tokenizer, token)
  if (id === undefined) throw invalid(`the tokenizer has no token ${token}, which the model needs`, token)
  return id
}
