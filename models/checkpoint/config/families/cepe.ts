import { Type } from '#typebox'
import { invalid } from '../../../errors.ts'
import type { CepeConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { Count, Layers, only, orNull } from './fields.ts'
import { LlamaSchema, parseLlama, parseTokens } from './llama.ts'

/** Checked first: a checkpoint whose decoder is its encoder has no encoder_config. */
const SharedEncoderSchema = Type.Object({ encoder_is_model: Type.Optional(Type.Boolean()) })

const CepeSchema = Type.Object({
  do_cross_attention: Type.Boolean(),
  num_cross_attn_layers: orNull(Layers),
  num_cross_attn_hidden_states: Type.Optional(Type.Integer()),
  encode_mode: Type.Optional(Type.String()),
  encoder_hidden_size: Count,
  encoder_config: LlamaSchema,
})

export function parseCepe(value: unknown): CepeConfig {
  const { encoder_is_model: shared = false } = parseAs(SharedEncoderSchema, value, 'config.json')
  if (shared) only('encoder_is_model', shared, 'false (a separate encoder, as in the published checkpoints)')
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
  return { architecture: 'cepe', decoder, tokens: parseTokens(raw), crossAttentionLayers, encoder, causalEncoder: false }
}
