import { Type, type Static } from 'typebox'

const Id = Type.Integer({ minimum: 0 })
const Part = Type.Unsafe<object | null>(Type.Union([Type.Object({}), Type.Null()]))

/** The required fields of huggingface/tokenizers' `tokenizer.json`; its parts are passed on unchanged. */
export const TokenizerJsonSchema = Type.Object({
  added_tokens: Type.Array(Type.Object({ id: Id, content: Type.String() })),
  normalizer: Part,
  pre_tokenizer: Part,
  post_processor: Part,
  decoder: Part,
  model: Type.Object({
    type: Type.Optional(Type.String()),
    vocab: Type.Union([Type.Record(Type.String(), Id), Type.Array(Type.Tuple([Type.String(), Type.Number()]))]),
  }),
})
export type TokenizerJson = Static<typeof TokenizerJsonSchema>

/** `tokenizer_config.json`: settings in addition to the tokenizer, passed on unchanged. */
export const TokenizerConfigSchema = Type.Record(Type.String(), Type.Unknown())
export type TokenizerConfig = Static<typeof TokenizerConfigSchema>

/** The two objects that @huggingface/tokenizers' Tokenizer takes. */
export interface TokenizerFiles {
  readonly tokenizer: TokenizerJson
  readonly config: TokenizerConfig
}

function largest(ids: Iterable<number>): number {
  let max = -1
  for (const id of ids) if (id > max) max = id
  return max
}

/** Rows that an embedding matrix needs for every id of the tokenizer: the largest id plus one. */
export function vocabularySize({ model, added_tokens: added }: TokenizerJson): number {
  const ofModel = Array.isArray(model.vocab) ? model.vocab.length - 1 : largest(Object.values(model.vocab))
  return Math.max(ofModel, largest(added.map(({ id }) => id))) + 1
}

/** The id of a token by its exact text, or undefined; added tokens take precedence over the model's. */
export function tokenId({ model, added_tokens: added }: TokenizerJson, token: string): number | undefined {
  const addition = added.find(({ content }) => content === token)
  if (addition !== undefined) return addition.id
  if (!Array.isArray(model.vocab)) return Object.hasOwn(model.vocab, token) ? model.vocab[token] : undefined
  const index = model.vocab.findIndex(([content]) => content === token)
  return index < 0 ? undefined : index
}
