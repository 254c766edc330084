import { Type, type Static } from 'typebox'
import { invalid } from '../../../errors.ts'
import type { CepeConfig, DecoderOnlyConfig, LlamaConfig, SpecialTokens } from '../config.ts'
import { parseAs } from '../json.ts'
import { checkedId, Count, STACK_FIELDS, stackSizes, Layers, only, orNull, Positive, requirePlain, TokenId, type Prefix } from './fields.ts'
import { parseRope, RopeSchema } from './rope.ts'

const LlamaSchema = Type.Object({
  ...STACK_FIELDS,
  num_key_value_heads: orNull(Count),
  head_dim: orNull(Count),
  rms_norm_eps: Positive,
  hidden_act: Type.String(),
  rope_theta: Type.Optional(Positive),
  rope_scaling: orNull(RopeSchema),
  rope_parameters: orNull(RopeSchema),
  tie_word_embeddings: Type.Optional(Type.Boolean()),
  bos_token_id: orNull(TokenId),
  eos_token_id: orNull(Type.Union([TokenId, Type.Array(TokenId)])),
  pad_token_id: orNull(Type.Integer({ minimum: -1, maximum: 1e9 })),
  sliding_window: orNull(Count),
  layer_types: orNull(Type.Array(Type.String())),
})
type RawLlama = Static<typeof LlamaSchema>

/** Fields in which a family differs from LLaMA. */
type Extras = Partial<Omit<LlamaConfig, 'tieWordEmbeddings'>>

/** By their names in config.json. */
const ACTIVATIONS = { silu: 'silu', 'gelu-tanh': 'gelu_pytorch_tanh' } as const

/** Fields of other families, and of variants. */
const PLAIN = { attention_bias: false, mlp_bias: false, partial_rotary_factor: 1, rope_interleaved: false }
const PLAIN_DECODER = { is_causal: true, attn_logit_softcapping: null, final_logit_softcapping: null }

/** One stack of layers. @throws checkpoint_invalid and unsupported naming the field */
function parseLlama(raw: RawLlama, prefix: Prefix, extras: Extras = {}): LlamaConfig {
  const { activation = 'silu' } = extras
  requirePlain(raw, { hidden_act: ACTIVATIONS[activation], ...PLAIN, ...(prefix === '' && PLAIN_DECODER) }, prefix)
  const local = extras.local === undefined ? raw.layer_types?.find((type) => type !== 'full_attention') : undefined
  if (local !== undefined) only(`${prefix}layer_types`, local, '"full_attention"')
  const heads = raw.num_attention_heads
  const kvHeads = raw.num_key_value_heads ?? heads
  const uneven = `config.json: ${prefix}num_attention_heads (${heads}) is no multiple of num_key_value_heads (${kvHeads})`
  if (heads % kvHeads !== 0) throw invalid(uneven, `${prefix}num_key_value_heads`)
  const headDim = raw.head_dim ?? raw.hidden_size / heads
  const odd = `config.json: ${prefix}hidden_size ${raw.hidden_size} over ${heads} heads gives head_dim ${headDim}; rotary embeddings need an even integer`
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) throw invalid(odd, `${prefix}head_dim`)
  return {
    ...stackSizes(raw),
    kvHeads,
    headDim,
    window: raw.max_position_embeddings,
    rmsNormEps: raw.rms_norm_eps,
    ...parseRope(raw, prefix),
    projectionBias: false,
    headNorms: false,
    activation,
    scoreScale: headDim ** -0.5,
    scoreCap: null,
    logitCap: null,
    local: null,
    embeddingScale: 1,
    postNorms: false,
    normsLessOne: false,
    ...extras,
    tieWordEmbeddings: prefix !== '' || (raw.tie_word_embeddings ?? false),
  }
}

function parseTokens(raw: RawLlama): SpecialTokens {
  const eos = raw.eos_token_id ?? []
  const { vocab_size: vocabSize, bos_token_id: bos, pad_token_id: pad } = raw
  return {
    bosId: typeof bos === 'number' ? checkedId('bos_token_id', bos, vocabSize) : null,
    eosIds: (typeof eos === 'number' ? [eos] : eos).map((id) => checkedId('eos_token_id', id, vocabSize)),
    // LLaMA checkpoints write -1 for "none"; CEPE's encoder pads with its own id, one past the decoder's vocabulary.
    padId: typeof pad === 'number' && pad >= 0 && pad < vocabSize ? pad : null,
  }
}

/** A decoder without encoder. */
export function parseDecoderOnly(value: unknown, extras: Extras = {}): DecoderOnlyConfig {
  return decoderOnly(parseAs(LlamaSchema, value, 'config.json'), extras)
}

/** The same of a checked config. */
function decoderOnly(raw: RawLlama, extras: Extras = {}): DecoderOnlyConfig {
  return { architecture: 'cepe', decoder: parseLlama(raw, '', extras), tokens: parseTokens(raw), crossAttentionLayers: 0, encoder: null }
}

/** A decoder with sliding-window attention, which bounds its window: for shorter prompts it equals full attention. */
function windowed(raw: RawLlama, extras: Extras = {}): DecoderOnlyConfig {
  const positions = Math.min(raw.max_position_embeddings, raw.sliding_window ?? Infinity)
  return decoderOnly({ ...raw, layer_types: null }, { ...extras, window: positions })
}

export function parseMistral(value: unknown): DecoderOnlyConfig {
  return windowed(parseAs(LlamaSchema, value, 'config.json'))
}

/** Default of transformers. */
const QWEN3_HEAD_DIM = 128

const QwenSchema = Type.Intersect([LlamaSchema, Type.Object({ use_sliding_window: Type.Optional(Type.Boolean()) })])

/** Qwen 2 and 2.5, a LLaMA with biases of queries, keys and values, or Qwen 3, which normalises their heads and states the head size. */
export function parseQwen(value: unknown, version: 2 | 3): DecoderOnlyConfig {
  const { headDim, ...extras } = version === 2 ? { headDim: null, projectionBias: true } : { headDim: QWEN3_HEAD_DIM, headNorms: true }
  const raw = parseAs(QwenSchema, value, 'config.json')
  return (raw.use_sliding_window === true ? windowed : decoderOnly)({ ...raw, head_dim: raw.head_dim ?? headDim }, extras)
}

const CepeSchema = Type.Object({
  do_cross_attention: Type.Boolean(),
  num_cross_attn_layers: orNull(Layers),
  encoder_hidden_size: Count,
  encoder_config: LlamaSchema,
})

const PLAIN_CEPE = {
  encoder_is_model: [false, 'false (a separate encoder, as in the published checkpoints)'],
  do_cross_attention: [true, 'true (a model without it is a LlamaForCausalLM)'],
  num_cross_attn_hidden_states: [1, "1 (the encoder's last hidden state)"],
  encode_mode: ['context_only', '"context_only" (each passage encoded without the question)'],
} as const

/** A decoder with cross-attention over an encoder. */
export function parseCepe(value: unknown): CepeConfig {
  // Before the schema: a checkpoint whose decoder is its encoder has no encoder_config.
  requirePlain(Object(value) as object, PLAIN_CEPE)
  const raw = parseAs(Type.Intersect([LlamaSchema, CepeSchema]), value, 'config.json')
  const decoder = parseLlama(raw, '')
  const encoder = parseLlama(raw.encoder_config, 'encoder_config.')
  const unequal = `config.json: encoder_hidden_size is ${raw.encoder_hidden_size}, encoder_config.hidden_size ${encoder.hiddenSize}; they must be equal`
  if (raw.encoder_hidden_size !== encoder.hiddenSize) throw invalid(unequal, 'encoder_hidden_size')
  const crossAttentionLayers = raw.num_cross_attn_layers ?? decoder.layers
  const tooMany = `config.json: num_cross_attn_layers is ${crossAttentionLayers}, the decoder has ${decoder.layers} layers`
  if (crossAttentionLayers > decoder.layers) throw invalid(tooMany, 'num_cross_attn_layers')
  return { architecture: 'cepe', decoder, tokens: parseTokens(raw), crossAttentionLayers, encoder, causalEncoder: false }
}
