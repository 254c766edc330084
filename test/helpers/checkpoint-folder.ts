import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig } from '../../models/checkpoint/config-parse.ts'
import { expectedTensors } from '../../models/checkpoint/rename.ts'
import type { F32Tensor } from './weights.ts'

const LLAMA = {
  vocab_size: 11,
  hidden_size: 8,
  intermediate_size: 6,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-5,
  hidden_act: 'silu',
  bos_token_id: 1,
  eos_token_id: 2,
  pad_token_id: -1,
}

/** config.json of a decoder-only LLaMA of two layers. */
export const LLAMA_CONFIG = { ...LLAMA, architectures: ['LlamaForCausalLM'] }

/** config.json of the smallest CEPE: cross-attention in the second of two layers, grouped-query attention in the decoder. */
export const CEPE_CONFIG = {
  ...LLAMA,
  architectures: ['LlamaForCausalContextLM'],
  num_key_value_heads: 1,
  do_cross_attention: true,
  num_cross_attn_layers: 1,
  num_cross_attn_hidden_states: 1,
  encode_mode: 'context_only',
  encoder_hidden_size: 4,
  encoder_config: { ...LLAMA, vocab_size: 12, hidden_size: 4, num_hidden_layers: 1, architectures: ['LlamaForMLM'] },
}

/** config.json of a one-layer Contriever. */
export const CONTRIEVER_CONFIG = {
  architectures: ['Contriever'],
  vocab_size: 9,
  hidden_size: 4,
  intermediate_size: 6,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: 16,
  type_vocab_size: 2,
  layer_norm_eps: 1e-12,
  hidden_act: 'gelu',
}

/** The weights that a config needs, with distinct small values. */
export function weightsFor(config: object): Record<string, F32Tensor> {
  let next = 0
  return Object.fromEntries(
    [...expectedTensors(parseConfig(config))].map(([name, shape]) => [
      name,
      { shape, values: Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (next++ % 251) / 256) },
    ]),
  )
}

/** Writes files (JSON where the content is no bytes) into a folder and returns its path. */
export function writeFolder(dir: string, files: Readonly<Record<string, object | Uint8Array | string>>): string {
  mkdirSync(dir, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(dir, name), typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content))
  }
  return dir
}
