import { Type } from '#typebox'
import { invalid } from '../../../errors.ts'
import type { ModernBertConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { checkedId, Count, ENCODER_FIELDS, encoderSizes, LayerTypes, localLayers, only, orNull, Positive } from './fields.ts'
import { RopeSchema } from './rope.ts'

const ModernBertSchema = Type.Object({
  ...ENCODER_FIELDS,
  norm_eps: Positive,
  hidden_activation: Type.String(),
  norm_bias: Type.Optional(Type.Boolean()),
  attention_bias: Type.Optional(Type.Boolean()),
  mlp_bias: Type.Optional(Type.Boolean()),
  local_attention: Count,
  global_attn_every_n_layers: orNull(Count),
  layer_types: orNull(LayerTypes),
  global_rope_theta: orNull(Positive),
  local_rope_theta: orNull(Positive),
  rope_parameters: orNull(Type.Object({ full_attention: Type.Optional(RopeSchema), sliding_attention: Type.Optional(RopeSchema) })),
})

const DEFAULTS = { every: 3, theta: 160_000, localTheta: 10_000 }

/** @throws checkpoint_invalid and unsupported naming the field */
export function parseModernBert(value: unknown): ModernBertConfig {
  const raw = parseAs(ModernBertSchema, value, 'config.json')
  if (raw.hidden_activation !== 'gelu') only('hidden_activation', raw.hidden_activation, '"gelu"')
  for (const field of ['norm_bias', 'attention_bias', 'mlp_bias'] as const) if (raw[field] === true) only(field, true, 'false')
  const { rope_parameters: rope, global_attn_every_n_layers: every } = raw
  for (const kind of ['full_attention', 'sliding_attention'] as const) {
    const type = rope?.[kind]?.rope_type ?? 'default'
    if (type !== 'default') only(`rope_parameters.${kind}.rope_type`, type, '"default"')
  }
  if (raw.hidden_size % (2 * raw.num_attention_heads) !== 0) {
    throw invalid(
      `config.json: hidden_size ${raw.hidden_size} over ${raw.num_attention_heads} heads gives no even width, which rotary embeddings need`,
      'num_attention_heads',
    )
  }
  const layers = localLayers(raw.layer_types, raw.num_hidden_layers, (layer) => layer % (every ?? DEFAULTS.every) !== 0)
  const localTheta = rope?.sliding_attention?.rope_theta ?? raw.local_rope_theta ?? DEFAULTS.localTheta
  return {
    architecture: 'contriever',
    family: 'modern',
    ...encoderSizes(raw),
    window: raw.max_position_embeddings,
    layerNormEps: raw.norm_eps,
    padId: checkedId('pad_token_id', raw.pad_token_id ?? 0, raw.vocab_size),
    ropeTheta: rope?.full_attention?.rope_theta ?? raw.global_rope_theta ?? DEFAULTS.theta,
    local: layers.includes(true) ? { window: Math.floor(raw.local_attention / 2), layers, ropeTheta: localTheta } : null,
  }
}
