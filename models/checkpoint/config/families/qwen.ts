import { Type } from '#typebox'
import type { DecoderOnlyConfig } from '../config.ts'
import { parseAs } from '../json.ts'
import { decoderOnly, LlamaSchema, withinWindow } from './llama.ts'

/** Default of transformers. */
const QWEN3_HEAD_DIM = 128

const QwenSchema = Type.Intersect([LlamaSchema, Type.Object({ use_sliding_window: Type.Optional(Type.Boolean()) })])

/** Qwen 2 and 2.5: a LLaMA with biases of queries, keys and values. */
export function parseQwen2(value: unknown): DecoderOnlyConfig {
  const raw = parseAs(QwenSchema, value, 'config.json')
  const config = decoderOnly(raw, { projectionBias: true })
  return raw.use_sliding_window === true ? withinWindow(config, raw.sliding_window) : config
}

/** Qwen 3: a LLaMA that normalises each head of queries and keys, with an explicit head size. */
export function parseQwen3(value: unknown): DecoderOnlyConfig {
  const raw = parseAs(QwenSchema, value, 'config.json')
  const config = decoderOnly({ ...raw, head_dim: raw.head_dim ?? QWEN3_HEAD_DIM }, { headNorms: true })
  return raw.use_sliding_window === true ? withinWindow(config, raw.sliding_window) : config
}
