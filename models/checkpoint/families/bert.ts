import { Type } from 'typebox'
import { invalid } from '../../errors.ts'
import type { ContrieverConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { checkedId, Count, Layers, only, orNull, Positive, TokenId, Window } from './fields.ts'

const BertSchema = Type.Object({
  vocab_size: Count,
  hidden_size: Count,
  intermediate_size: Count,
  num_hidden_layers: Layers,
  num_attention_heads: Count,
  max_position_embeddings: Window,
  type_vocab_size: Count,
  layer_norm_eps: Positive,
  hidden_act: Type.String(),
  position_embedding_type: Type.Optional(Type.String()),
  pad_token_id: orNull(TokenId),
})

export function parseContriever(value: unknown): ContrieverConfig {
  const raw = parseAs(BertSchema, value, 'config.json')
  const positions = raw.position_embedding_type ?? 'absolute'
  if (positions !== 'absolute') only('position_embedding_type', positions, '"absolute"')
  if (raw.hidden_act !== 'gelu') only('hidden_act', raw.hidden_act, '"gelu"')
  if (raw.hidden_size % raw.num_attention_heads !== 0) {
    throw invalid(
      `config.json: hidden_size ${raw.hidden_size} is no multiple of num_attention_heads ${raw.num_attention_heads}`,
      'num_attention_heads',
    )
  }
  return {
    architecture: 'contriever',
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads: raw.num_attention_heads,
    window: raw.max_position_embeddings,
    typeVocabSize: raw.type_vocab_size,
    layerNormEps: raw.layer_norm_eps,
    padId: checkedId('pad_token_id', raw.pad_token_id ?? 0, raw.vocab_size),
  }
}
