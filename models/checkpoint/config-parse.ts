import { Type, type Static } from 'typebox'
import { invalid, unsupported } from '../errors.ts'
import type { CepeConfig, ContrieverConfig, LlamaConfig, ModelConfig, RopeScaling, SpecialTokens } from './config.ts'
import { parseAs } from './json.ts'

const Count = Type.Integer({ minimum: 1, maximum: 1e9 })
/** Far beyond any model: what a config claims is laid out tensor by tensor before the weights are looked at. */
const Layers = Type.Integer({ minimum: 1, maximum: 1024 })
/** Each position takes a row of the rotary tables. */
const Window = Type.Integer({ minimum: 1, maximum: 2 ** 22 })
const TokenId = Type.Integer({ minimum: 0, maximum: 1e9 })
const Positive = Type.Number({ exclusiveMinimum: 0 })
function orNull<T extends Parameters<typeof Type.Union>[0][number]>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

const ArchitecturesSchema = Type.Object({ architectures: Type.Array(Type.String(), { minItems: 1 }) })

const RopeSchema = Type.Object({
  type: Type.Optional(Type.String()),
  rope_type: Type.Optional(Type.String()),
  rope_theta: Type.Optional(Positive),
  factor: Type.Optional(Type.Number({ minimum: 1 })),
  original_max_position_embeddings: orNull(Count),
  attention_factor: orNull(Positive),
  beta_fast: orNull(Positive),
  beta_slow: orNull(Positive),
  low_freq_factor: orNull(Positive),
  high_freq_factor: orNull(Positive),
})

type RawRope = Static<typeof RopeSchema>

const LlamaSchema = Type.Object({
  vocab_size: Count,
  hidden_size: Count,
  intermediate_size: Count,
  num_hidden_layers: Layers,
  num_attention_heads: Count,
  num_key_value_heads: orNull(Count),
  head_dim: orNull(Count),
  max_position_embeddings: Window,
  rms_norm_eps: Positive,
  hidden_act: Type.String(),
  attention_bias: Type.Optional(Type.Boolean()),
  mlp_bias: Type.Optional(Type.Boolean()),
  rope_theta: Type.Optional(Positive),
  rope_scaling: orNull(RopeSchema),
  rope_parameters: orNull(RopeSchema),
  tie_word_embeddings: Type.Optional(Type.Boolean()),
  bos_token_id: orNull(TokenId),
  eos_token_id: orNull(Type.Union([TokenId, Type.Array(TokenId)])),
  pad_token_id: orNull(Type.Integer({ minimum: -1, maximum: 1e9 })),
  sliding_window: orNull(Count),
  partial_rotary_factor: orNull(Positive),
  quantization_config: orNull(Type.Object({ quant_method: Type.Optional(Type.String()) })),
})
type RawLlama = Static<typeof LlamaSchema>

/** Looked at first: a checkpoint whose decoder is its encoder has no encoder_config. */
const SharedEncoderSchema = Type.Object({ encoder_is_model: Type.Optional(Type.Boolean()) })

const CepeSchema = Type.Object({
  do_cross_attention: Type.Boolean(),
  num_cross_attn_layers: orNull(Layers),
  num_cross_attn_hidden_states: Type.Optional(Type.Integer()),
  encode_mode: Type.Optional(Type.String()),
  encoder_hidden_size: Count,
  encoder_config: LlamaSchema,
})

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

/** Prefix of the field names of a nested config in messages: "" or "encoder_config.". */
type Prefix = '' | 'encoder_config.'

function only(field: string, actual: string | number | boolean, supported: string): never {
  throw unsupported(`config.json: ${field} is ${JSON.stringify(actual)}; supported is ${supported}`, field)
}

/** Other programs disagree about the defaults of these fields, so that none is assumed. */
function parseLlama3Rope(rope: RawRope, factor: number, field: string): RopeScaling {
  const given = (name: 'original_max_position_embeddings' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = rope[name]
    if (typeof value !== 'number') throw invalid(`config.json: ${field}.${name} is missing`, `${field}.${name}`)
    return value
  }
  const [lowTurns, highTurns] = [given('low_freq_factor'), given('high_freq_factor')]
  if (!(lowTurns < highTurns)) {
    throw invalid(
      `config.json: ${field}.low_freq_factor (${lowTurns}) must be below high_freq_factor (${highTurns})`,
      `${field}.low_freq_factor`,
    )
  }
  return { type: 'llama3', factor, originalWindow: given('original_max_position_embeddings'), lowTurns, highTurns }
}

function parseRope(raw: RawLlama, prefix: Prefix): RopeScaling | null {
  const rope = raw.rope_scaling ?? raw.rope_parameters ?? null
  const type = rope?.rope_type ?? rope?.type ?? 'default'
  if (rope === null || type === 'default') return null
  const field = `${prefix}${raw.rope_scaling ? 'rope_scaling' : 'rope_parameters'}`
  // Its basis depends on how long a text is; the encoder's passages never exceed what it was trained on.
  const dynamic = type === 'dynamic' && prefix === ''
  if (type !== 'linear' && type !== 'yarn' && type !== 'llama3' && !dynamic)
    return only(`${field}.type`, type, prefix === '' ? '"linear", "yarn", "llama3" or "dynamic"' : '"linear", "yarn" or "llama3"')
  const { factor } = rope
  if (factor === undefined) throw invalid(`config.json: ${field}.factor is missing`, `${field}.factor`)
  if (type === 'linear') return { type, factor }
  if (type === 'dynamic') return { type, factor, originalWindow: raw.max_position_embeddings }
  if (type === 'llama3') return parseLlama3Rope(rope, factor, field)
  for (const extra of ['mscale', 'mscale_all_dim', 'truncate']) {
    if (extra in rope)
      throw unsupported(
        `config.json: ${field}.${extra} is not supported; YaRN takes factor, original_max_position_embeddings, attention_factor, beta_fast and beta_slow`,
        `${field}.${extra}`,
      )
  }
  return {
    type,
    factor,
    originalWindow: rope.original_max_position_embeddings ?? raw.max_position_embeddings,
    attentionFactor: rope.attention_factor ?? 0.1 * Math.log(factor) + 1,
    betaFast: rope.beta_fast ?? 32,
    betaSlow: rope.beta_slow ?? 1,
  }
}

function parseLlama(raw: RawLlama, prefix: Prefix): LlamaConfig {
  if (raw.hidden_act !== 'silu') only(`${prefix}hidden_act`, raw.hidden_act, '"silu"')
  if (raw.attention_bias === true) only(`${prefix}attention_bias`, true, 'false')
  if (raw.mlp_bias === true) only(`${prefix}mlp_bias`, true, 'false')
  if ((raw.partial_rotary_factor ?? 1) !== 1) only(`${prefix}partial_rotary_factor`, raw.partial_rotary_factor ?? 1, '1')
  if (raw.quantization_config) {
    only(
      `${prefix}quantization_config.quant_method`,
      raw.quantization_config.quant_method ?? 'unnamed',
      'a checkpoint in f32, f16 or bf16: cepe build quantises itself',
    )
  }
  const heads = raw.num_attention_heads
  const kvHeads = raw.num_key_value_heads ?? heads
  if (heads % kvHeads !== 0) {
    throw invalid(
      `config.json: ${prefix}num_attention_heads (${heads}) is no multiple of num_key_value_heads (${kvHeads})`,
      `${prefix}num_key_value_heads`,
    )
  }
  const headDim = raw.head_dim ?? raw.hidden_size / heads
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) {
    throw invalid(
      `config.json: ${prefix}hidden_size ${raw.hidden_size} over ${heads} heads gives head_dim ${headDim}; rotary embeddings need an even integer`,
      `${prefix}head_dim`,
    )
  }
  return {
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    window: raw.max_position_embeddings,
    rmsNormEps: raw.rms_norm_eps,
    ropeTheta: raw.rope_theta ?? raw.rope_parameters?.rope_theta ?? 10_000,
    ropeScaling: parseRope(raw, prefix),
    tieWordEmbeddings: prefix !== '' || (raw.tie_word_embeddings ?? false),
  }
}

function checkedId(field: string, id: number, vocabSize: number): number {
  if (id >= vocabSize) throw invalid(`config.json: ${field} ${id} is outside the vocabulary of ${vocabSize}`, field)
  return id
}

function parseTokens(raw: RawLlama): SpecialTokens {
  const eos = raw.eos_token_id ?? []
  const { vocab_size: vocabSize, bos_token_id: bos, pad_token_id: pad } = raw
  return {
    bosId: typeof bos === 'number' ? checkedId('bos_token_id', bos, vocabSize) : null,
    eosIds: (typeof eos === 'number' ? [eos] : eos).map((id) => checkedId('eos_token_id', id, vocabSize)),
    // LLaMA checkpoints write -1 for "none"; CEPE's encoder pads with an id of its own, one past the decoder's vocabulary.
    padId: typeof pad === 'number' && pad >= 0 && pad < vocabSize ? pad : null,
  }
}

function parseDecoderOnly(value: unknown): CepeConfig {
  const raw = parseAs(LlamaSchema, value, 'config.json')
  return { architecture: 'cepe', decoder: parseLlama(raw, ''), tokens: parseTokens(raw), crossAttentionLayers: 0, encoder: null }
}

/** A LLaMA whose tokens see the last `sliding_window` before them: the same as long as no prompt is longer, so that is the window. */
function parseMistral(value: unknown): CepeConfig {
  const raw = parseAs(LlamaSchema, value, 'config.json')
  const config = parseDecoderOnly(value)
  const window = Math.min(config.decoder.window, raw.sliding_window ?? config.decoder.window)
  return { ...config, encoder: null, crossAttentionLayers: 0, decoder: { ...config.decoder, window } }
}

function parseCepe(value: unknown): CepeConfig {
  const { encoder_is_model: shared = false } = parseAs(SharedEncoderSchema, value, 'config.json')
  if (shared) only('encoder_is_model', shared, 'false (an encoder of its own, which the published checkpoints have)')
  const raw = parseAs(Type.Intersect([LlamaSchema, CepeSchema]), value, 'config.json')
  if (!raw.do_cross_attention) only('do_cross_attention', false, 'true (a model without it is a LlamaForCausalLM)')
  const states = raw.num_cross_attn_hidden_states ?? 1
  if (states !== 1) only('num_cross_attn_hidden_states', states, "1 (the encoder's last hidden state)")
  const mode = raw.encode_mode ?? 'context_only'
  if (mode !== 'context_only') only('encode_mode', mode, '"context_only" (each passage encoded without the question)')
  const decoder = parseLlama(raw, '')
  const encoder = parseLlama(raw.encoder_config, 'encoder_config.')
  if (raw.encoder_hidden_size !== encoder.hiddenSize) {
    throw invalid(
      `config.json: encoder_hidden_size is ${raw.encoder_hidden_size}, encoder_config.hidden_size ${encoder.hiddenSize}; they must be equal`,
      'encoder_hidden_size',
    )
  }
  const crossAttentionLayers = raw.num_cross_attn_layers ?? decoder.layers
  if (crossAttentionLayers > decoder.layers) {
    throw invalid(
      `config.json: num_cross_attn_layers is ${crossAttentionLayers}, the decoder has ${decoder.layers} layers`,
      'num_cross_attn_layers',
    )
  }
  return { architecture: 'cepe', decoder, tokens: parseTokens(raw), crossAttentionLayers, encoder }
}

function parseContriever(value: unknown): ContrieverConfig {
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

const PARSERS: ReadonlyMap<string, (value: unknown) => ModelConfig> = new Map<string, (value: unknown) => ModelConfig>([
  ['LlamaForCausalContextLM', parseCepe],
  ['LlamaForCausalLM', parseDecoderOnly],
  ['MistralForCausalLM', parseMistral],
  ['Contriever', parseContriever],
  ['BertModel', parseContriever],
])

/**
 * Validates the value of a Hugging Face config.json and normalises it.
 * @throws checkpoint_invalid (a field missing, of the wrong type, or contradicting another) and unsupported
 * (another architecture or a variant that the graphs do not compute), each naming the field and what is supported.
 */
export function parseConfig(value: unknown): ModelConfig {
  const { architectures } = parseAs(ArchitecturesSchema, value, 'config.json')
  for (const architecture of architectures) {
    const parse = PARSERS.get(architecture)
    if (parse !== undefined) return parse(value)
  }
  throw unsupported(
    `config.json: architectures is ${JSON.stringify(architectures)}; supported are ${[...PARSERS.keys()].join(', ')}`,
    'architectures',
  )
}
