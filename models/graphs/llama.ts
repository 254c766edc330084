import type { LlamaConfig } from '../checkpoint/config.ts'
import type { Value } from '../onnx/graph.ts'
import { mlp } from '../blocks/mlp.ts'
import { normStream, type Residual } from '../blocks/norm.ts'
import type { Params } from '../blocks/params.ts'

/** Writes one sublayer of layer `index` for its normed input, both [B,L,d]. */
export type Sublayer = (params: Params, normed: Value, index: number) => Value

/** CEPE's extra sublayer, in the layers from `from` on. */
export interface CrossLayers {
  readonly from: number
  readonly attend: Sublayer
}

/** The LLaMA blocks `layers.0` ... of a stack: pre-norm self-attention, cross-attention where given, SwiGLU; all residual. */
export function llamaLayers(
  params: Params,
  config: LlamaConfig,
  embedded: Value,
  { attend, cross = null }: { readonly attend: Sublayer; readonly cross?: CrossLayers | null },
): Residual {
  let stream: Residual = { x: embedded, delta: null }
  const sublayer = (p: Params, norm: string, write: (normed: Value) => Value): void => {
    const [normed, x] = normStream(p, stream, norm, config.rmsNormEps)
    stream = { x, delta: write(normed) }
  }
  for (let i = 0; i < config.layers; i++) {
    params.in(`layers.${i}`, (p) => {
      sublayer(p, 'input_layernorm', (normed) => attend(p, normed, i))
      if (cross && i >= cross.from) sublayer(p, 'cross_attn.layernorm', (normed) => cross.attend(p, normed, i))
      sublayer(p, 'post_attention_layernorm', (normed) => mlp(p, normed))
    })
  }
  return stream
}
