import type { LlamaConfig } from '../checkpoint/config/config.ts'
import type { Value } from '../onnx/graph.ts'
import { type Residual, norm, normStream } from '../blocks/norm.ts'
import type { Params } from '../blocks/params.ts'
import { silu } from '../onnx/contrib.ts'
import { geluTanh, mul } from '../onnx/ops.ts'

/** SwiGLU or GeGLU: down(activation(gate(x)) * up(x)), x [...,d] -> [...,d]. */
function mlp(params: Params, x: Value, { activation }: Pick<LlamaConfig, 'activation'>): Value {
  const activated = activation === 'silu' ? silu : geluTanh
  return params.in('mlp', (p) => p.linear(mul(activated(p.linear(x, 'gate_proj')), p.linear(x, 'up_proj')), 'down_proj'))
}

/** Writes one sublayer of layer `index` for its normed input, both [B,L,d]. */
export type Sublayer = (params: Params, normed: Value, index: number) => Value

/** The layers with cross-attention, from `from` to the last. */
export interface CrossLayers {
  readonly from: number
  readonly attend: Sublayer
}

/** Names of a layer's norms: before the MLP, and of the outputs of attention and MLP, if these are normalised. */
const NORMS = { mlp: 'post_attention_layernorm', written: null } as const
const GEMMA_NORMS = {
  mlp: 'pre_feedforward_layernorm',
  written: { attention: 'post_attention_layernorm', mlp: 'post_feedforward_layernorm' },
} as const

/** The LLaMA blocks `layers.0` ... of a stack: pre-norm self-attention, optional cross-attention, gated MLP; all residual. */
export function llamaLayers(
  params: Params,
  config: LlamaConfig,
  embedded: Value,
  { attend, cross = null }: { readonly attend: Sublayer; readonly cross?: CrossLayers | null },
): Residual {
  const norms = config.postNorms ? GEMMA_NORMS : NORMS
  const normed = (p: Params, part: 'attention' | 'mlp', written: Value): Value =>
    norms.written ? norm(p, written, norms.written[part], config.rmsNormEps) : written
  let stream: Residual = { x: embedded, delta: null }
  const sublayer = (p: Params, name: string, write: (input: Value) => Value): void => {
    const [input, x] = normStream(p, stream, name, config.rmsNormEps)
    stream = { x, delta: write(input) }
  }
  for (let i = 0; i < config.layers; i++) {
    params.in(`layers.${i}`, (p) => {
      sublayer(p, 'input_layernorm', (input) => normed(p, 'attention', attend(p, input, i)))
      if (cross && i >= cross.from) sublayer(p, 'cross_attn.layernorm', (input) => cross.attend(p, input, i))
      sublayer(p, norms.mlp, (input) => normed(p, 'mlp', mlp(p, input, config)))
    })
  }
  return stream
}
