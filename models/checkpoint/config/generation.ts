import { join } from 'node:path'
import { Type } from '#typebox'
import type { ModelConfig } from './config.ts'
import { checkedId, orNull, TokenId } from './families/fields.ts'
import { parseAs, readJson } from './json.ts'

const FILE = 'generation_config.json'
const GenerationSchema = Type.Object({ eos_token_id: orNull(Type.Union([TokenId, Type.Array(TokenId)])) })

/**
 * A decoder's config with the tokens that end a text as generation_config.json has them, where the folder has that file and the file
 * names any: they take the place of config.json's, as in transformers. Chat models end a turn with one that only this file names.
 * @throws checkpoint_invalid naming the file and field
 */
export async function withGenerationStops(dir: string, config: ModelConfig): Promise<ModelConfig> {
  if (config.architecture !== 'cepe') return config
  const value = await readJson(join(dir, FILE))
  if (value === undefined) return config
  const { eos_token_id: eos } = parseAs(GenerationSchema, value, FILE)
  const named = [eos ?? []].flat()
  if (named.length === 0) return config
  const { vocabSize } = config.decoder
  const eosIds = [...new Set(named)].map((id) => checkedId('eos_token_id', id, vocabSize, FILE))
  return { ...config, tokens: { ...config.tokens, eosIds } }
}
