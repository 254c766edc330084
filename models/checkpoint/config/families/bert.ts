import { Type } from 'typebox'
import { invalid } from '../../../errors.ts'
import type { BertConfig, ContrieverConfig, ModernBertConfig, RerankerConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { checkedId, Count, STACK_FIELDS, stackSizes, LayerTypes, localLayers, orNull, Positive, only, requirePlain } from './fields.ts'
import { PLAIN_ROPE, RopeSchema } from './rope.ts'

const BertSchema = Type.Object({
  ...STACK_FIELDS,
  type_vocab_size: Count,
  layer_norm_eps: Positive,
  hidden_act: Type.String(),
})
const PLAIN = { hidden_act: 'gelu', position_embedding_type: 'absolute', is_decoder: false, add_cross_attention: false }

const LabelsSchema = Type.Object({
  id2label: orNull(Type.Record(Type.String(), Type.Unknown())),
  num_labels: orNull(Type.Integer({ minimum: 1 })),
})

function parseStack(value: unknown, family: BertConfig['family']): BertConfig {
  const raw = parseAs(BertSchema, value, 'config.json')
  requirePlain(raw, PLAIN)
  const uneven = `config.json: hidden_size ${raw.hidden_size} is no multiple of num_attention_heads ${raw.num_attention_heads}`
  if (raw.hidden_size % raw.num_attention_heads !== 0) throw invalid(uneven, 'num_attention_heads')
  const padId = checkedId('pad_token_id', raw.pad_token_id ?? (family === 'roberta' ? 1 : 0), raw.vocab_size)
  const firstPosition = family === 'roberta' ? padId + 1 : 0
  const beyond = `config.json: max_position_embeddings is ${raw.max_position_embeddings}, positions begin at ${firstPosition}`
  if (firstPosition >= raw.max_position_embeddings) throw invalid(beyond, 'max_position_embeddings')
  return {
    family,
    ...stackSizes(raw),
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
  const labelCount = labels ? Object.keys(labels).length : (count ?? 2)
  if (labelCount !== 1) only('id2label', labelCount, '1 label (a cross-encoder that scores a query with a passage)')
  return { architecture: 'reranker', ...parseStack(value, family) }
}

const ModernBertSchema = Type.Object({
  ...STACK_FIELDS,
  norm_eps: Positive,
  hidden_activation: Type.String(),
  local_attention: Count,
  global_attn_every_n_layers: orNull(Count),
  layer_types: orNull(LayerTypes),
  global_rope_theta: orNull(Positive),
  local_rope_theta: orNull(Positive),
  rope_parameters: orNull(Type.Object({ full_attention: Type.Optional(RopeSchema), sliding_attention: Type.Optional(RopeSchema) })),
})

const PLAIN_MODERN = { hidden_activation: 'gelu', norm_bias: false, attention_bias: false, mlp_bias: false, rope_scaling: null }
const DEFAULTS = { every: 3, theta: 160_000, localTheta: 10_000 }

/** @throws checkpoint_invalid and unsupported naming the field */
export function parseModernBert(value: unknown): ModernBertConfig {
  const raw = parseAs(ModernBertSchema, value, 'config.json')
  requirePlain(raw, PLAIN_MODERN)
  const { rope_parameters: rope, global_attn_every_n_layers: every } = raw
  for (const [kind, parameters] of Object.entries(rope ?? {})) requirePlain(parameters, PLAIN_ROPE, `rope_parameters.${kind}.`)
  const message = `config.json: hidden_size ${raw.hidden_size} over ${raw.num_attention_heads} heads gives no even width, which rotary embeddings need`
  if (raw.hidden_size % (2 * raw.num_attention_heads) !== 0) throw invalid(message, 'num_attention_heads')
  const layers = localLayers(raw.layer_types, raw.num_hidden_layers, (layer) => layer % (every ?? DEFAULTS.every) !== 0)
  const localTheta = rope?.sliding_attention?.rope_theta ?? raw.local_rope_theta ?? DEFAULTS.localTheta
  return {
    architecture: 'contriever',
    family: 'modern',
    ...stackSizes(raw),
    window: raw.max_position_embeddings,
    layerNormEps: raw.norm_eps,
    padId: checkedId('pad_token_id', raw.pad_token_id ?? 0, raw.vocab_size),
    ropeTheta: rope?.full_attention?.rope_theta ?? raw.global_rope_theta ?? DEFAULTS.theta,
    local: layers.includes(true) ? { window: Math.floor(raw.local_attention / 2), layers, ropeTheta: localTheta } : null,
  }
}
