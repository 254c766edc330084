import { Type, type Static } from 'typebox'
import type { DecoderOnlyConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { Count, Layers, LayerTypes, localLayers, orNull, requirePlain, Positive, Window } from './fields.ts'
import { parseDecoderOnly } from './llama.ts'
import { PLAIN_ROPE, RopeSchema } from './rope.ts'

const GemmaSchema = Type.Object({
  hidden_size: Count,
  num_hidden_layers: Layers,
  max_position_embeddings: Window,
  head_dim: orNull(Count),
  hidden_act: Type.Optional(Type.String()),
  hidden_activation: orNull(Type.String()),
  query_pre_attn_scalar: Positive,
  attn_logit_softcapping: orNull(Positive),
  final_logit_softcapping: orNull(Positive),
  sliding_window: orNull(Count),
  sliding_window_pattern: orNull(Count),
  layer_types: orNull(LayerTypes),
  tie_word_embeddings: Type.Optional(Type.Boolean()),
  rope_theta: Type.Optional(Positive),
  rope_local_base_freq: Type.Optional(Positive),
  rope_scaling: orNull(RopeSchema),
  // transformers 5 states the rotation of each kind of layer, where they differ.
  rope_parameters: orNull(Type.Union([Type.Object({ full_attention: RopeSchema, sliding_attention: RopeSchema }), RopeSchema])),
})

interface Version {
  /** Default of config.json: every n-th layer is global, the others are local. */
  readonly pattern: number
  readonly ropeTheta: number
  readonly localTheta?: number
  readonly headNorms: boolean
}

/** Gemma 2: every other layer local. Gemma 3: normalised heads, five of six layers local with a rotary base of their own. */
const VERSIONS: Readonly<Record<2 | 3, Version>> = {
  2: { pattern: 2, ropeTheta: 10_000, headNorms: false },
  3: { pattern: 6, ropeTheta: 1e6, localTheta: 10_000, headNorms: true },
}

/** Rotation of the global layers in the form of older configs, and the base of the local ones. */
function rotations(
  raw: Static<typeof GemmaSchema>,
  version: Version,
): { readonly rope_theta: number; readonly rope_scaling: object | null; readonly local: number } {
  const { rope_parameters: parameters } = raw
  if (parameters && 'full_attention' in parameters) {
    const { full_attention: full, sliding_attention: sliding } = parameters
    requirePlain(sliding, PLAIN_ROPE, 'rope_parameters.sliding_attention.')
    const rope_theta = full.rope_theta ?? version.ropeTheta
    return { rope_theta, rope_scaling: full, local: sliding.rope_theta ?? version.localTheta ?? rope_theta }
  }
  const rope_scaling = raw.rope_scaling ?? parameters ?? null
  const rope_theta = raw.rope_theta ?? rope_scaling?.rope_theta ?? version.ropeTheta
  return {
    rope_theta,
    rope_scaling,
    local: raw.rope_local_base_freq ?? version.localTheta ?? rope_theta,
  }
}

/** A text model of Gemma: capped scores and logits where its config has them, and norms of what attention and MLP write. */
export function parseGemma(value: unknown, number: keyof typeof VERSIONS): DecoderOnlyConfig {
  const version = VERSIONS[number]
  const raw = parseAs(GemmaSchema, value, 'config.json')
  requirePlain(raw, { use_bidirectional_attention: [false, 'false (a decoder)'] })
  const { rope_theta, rope_scaling, local } = rotations(raw, version)
  const { sliding_window: window, sliding_window_pattern: pattern } = raw
  const layers = localLayers(raw.layer_types, raw.num_hidden_layers, (layer) => (layer + 1) % (pattern ?? version.pattern) !== 0)
  const plain = {
    ...(value as object),
    hidden_act: raw.hidden_activation ?? raw.hidden_act ?? 'gelu_pytorch_tanh',
    head_dim: raw.head_dim ?? 256,
    tie_word_embeddings: raw.tie_word_embeddings ?? true,
    sliding_window: null,
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    rope_parameters: null,
    rope_theta,
    rope_scaling,
  }
  return parseDecoderOnly(plain, {
    headNorms: version.headNorms,
    activation: 'gelu-tanh',
    scoreScale: raw.query_pre_attn_scalar ** -0.5,
    scoreCap: raw.attn_logit_softcapping ?? null,
    logitCap: raw.final_logit_softcapping ?? null,
    local: window && layers.includes(true) ? { window, layers, ropeTheta: local } : null,
    embeddingScale: raw.hidden_size ** 0.5,
    postNorms: true,
    normsLessOne: true,
  })
}
