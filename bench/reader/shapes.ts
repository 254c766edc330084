/** config.json contents in the shapes of published models, for benchmarks with random weights. */

const ENCODER = {
  architectures: ['LlamaForMLM'],
  hidden_act: 'silu',
  vocab_size: 32_001,
  hidden_size: 1024,
  intermediate_size: 4096,
  num_hidden_layers: 24,
  num_attention_heads: 16,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  bos_token_id: 1,
  eos_token_id: 2,
  pad_token_id: 0,
}

const DECODER = {
  architectures: ['LlamaForCausalContextLM'],
  hidden_act: 'silu',
  vocab_size: 32_000,
  num_attention_heads: 32,
  max_position_embeddings: 4096,
  rms_norm_eps: 1e-5,
  bos_token_id: 1,
  eos_token_id: 2,
  pad_token_id: 0,
  do_cross_attention: true,
  num_cross_attn_hidden_states: 1,
  encode_mode: 'context_only',
  encoder_hidden_size: 1024,
}

interface Depth {
  readonly layers: number
  readonly encoderLayers: number
}

function cepe(width: { hidden_size: number; intermediate_size: number }, { layers, encoderLayers }: Depth): object {
  return {
    ...{ ...DECODER, ...width, num_hidden_layers: layers, num_cross_attn_layers: layers },
    encoder_config: { ...ENCODER, num_hidden_layers: encoderLayers },
  }
}

/** TinyLlama-1.1B's widths with a key-value head per head, and CEPE's encoder; 22 and 24 layers are the full depths. */
export function cepe1B(depth: Depth): object {
  return cepe({ hidden_size: 2048, intermediate_size: 5632 }, depth)
}

/** CEPE's shape with small widths, to try out a benchmark; the vocabulary covers the shipped tokenizer's. */
function cepeSmall(): object {
  const common = { num_attention_heads: 4, vocab_size: 10_240 }
  const shape = cepe({ hidden_size: 64, intermediate_size: 128 }, { layers: 2, encoderLayers: 2 })
  const encoder = { ...ENCODER, ...common, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2 }
  return { ...shape, ...common, encoder_hidden_size: 32, encoder_config: encoder }
}

export const SHAPES = {
  '7b': cepe({ hidden_size: 4096, intermediate_size: 11_008 }, { layers: 32, encoderLayers: 24 }),
  '1.1b': cepe1B({ layers: 22, encoderLayers: 24 }),
  // Reduced depth where all layers would take too long.
  '1.1b-shallow': cepe1B({ layers: 4, encoderLayers: 4 }),
  small: cepeSmall(),
} as const
