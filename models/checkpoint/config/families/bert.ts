import { Type } from '#typebox'
import { invalid } from '../../../errors.ts'
import type { BertConfig, ContrieverConfig, RerankerConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { checkedId, Count, ENCODER_FIELDS, encoderSizes, only, orNull, Positive } from './fields.ts'

const BertSchema = Type.Object({
  ...ENCODER_FIELDS,
  type_vocab_size: Count,
  layer_norm_eps: Positive,
  hidden_act: Type.String(),
  position_embedding_type: Type.Optional(Type.String()),
})

const LabelsSchema = Type.Object({
  id2label: orNull(Type.Record(Type.String(), Type.Unknown())),
  num_labels: orNull(Type.Integer({ minimum: 1 })),
})

function parseStack(value: unknown, family: BertConfig['family']): BertConfig {
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
  const padId = checkedId('pad_token_id', raw.pad_token_id ?? (family === 'roberta' ? 1 : 0), raw.vocab_size)
  const firstPosition = family === 'roberta' ? padId + 1 : 0
  if (firstPosition >= raw.max_position_embeddings)
    throw invalid(
      `config.json: max_position_embeddings is ${raw.max_position_embeddings}, positions begin at ${firstPosition}`,
      'max_position_embeddings',
    )
  return {
    family,
    ...encoderSizes(raw),
    window: raw.max_position_embeddings - firstPosition,
    firstPosition,
    typeVocabSize: raw.type_vocab_size,
    layerNormEps: raw.layer_norm_eps,
    padId,
  }
}

/** A retriever. @throws checkpoint_invalid and unsupported naming the field */
export function parseContriever(value: unknown, family: BertConfig['family']): ContrieverConfig {
  return { architecture: 'contriever', ...parseStack(value, family) }
}

/** A classifier with one label, which scores pairs of texts. @throws checkpoint_invalid and unsupported naming the field */
export function parseReranker(value: unknown, family: BertConfig['family']): RerankerConfig {
  const { id2label: labels, num_labels: count } = parseAs(LabelsSchema, value, 'config.json')
  const number = labels ? Object.keys(labels).length : (count ?? 2)
  if (number !== 1) only('id2label', number, '1 label (a cross-encoder that scores a query with a passage)')
  return { architecture: 'reranker', ...parseStack(value, family) }
}
