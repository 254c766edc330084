import type { LlamaConfig } from '../checkpoint/config/config.ts'
import { silu } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { geluTanh, mul } from '../onnx/ops.ts'
import type { Params } from './params.ts'

/** SwiGLU or GeGLU: down(activation(gate(x)) * up(x)), x [...,d] -> [...,d]. */
export function mlp(params: Params, x: Value, { activation }: Pick<LlamaConfig, 'activation'>): Value {
  const activated = activation === 'silu' ? silu : geluTanh
  return params.in('mlp', (p) => p.linear(mul(activated(p.linear(x, 'gate_proj')), p.linear(x, 'up_proj')), 'down_proj'))
}
