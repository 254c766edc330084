import { Type } from '#typebox'
import type { DecoderOnlyConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { parseDecoderOnly, LlamaSchema, withinWindow } from './llama.ts'

/** Default of transformers. */
const QWEN3_HEAD_DIM = 128

const SlidingSchema = Type.Object({ use_sliding_window: Type.Optional(Type.Boolean()) })

/** Applies sliding-window attention in some layers, if configured. */
function withSliding(value: unknown, config: DecoderOnlyConfig): DecoderOnlyConfig {
  const { use_sliding_window: slides = false } = parseAs(SlidingSchema, value, 'config.json')
  return slides ? withinWindow(config, parseAs(LlamaSchema, value, 'config.json').sliding_window) : config
}

/** Qwen 2 and 2.5: a LLaMA with biases of queries, keys and values. */
export function parseQwen2(value: unknown): DecoderOnlyConfig {
  return withSliding(value, parseDecoderOnly(value, { projectionBias: true }))
}

/** Qwen 3: a LLaMA that normalises each head of queries and keys, with an explicit head size. */
export function parseQwen3(value: unknown): DecoderOnlyConfig {
  const raw = parseAs(LlamaSchema, value, 'config.json')
  return withSliding(value, parseDecoderOnly({ ...raw, head_dim: raw.head_dim ?? QWEN3_HEAD_DIM }, { headNorms: true }))
}
