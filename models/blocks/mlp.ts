import { silu } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { mul } from '../onnx/ops.ts'
import type { Params } from './params.ts'

/** SwiGLU: down(silu(gate(x)) * up(x)), x [...,d] -> [...,d]. */
export function mlp(params: Params, x: Value): Value {
  return params.in('mlp', (p) => p.linear(mul(silu(p.linear(x, 'gate_proj')), p.linear(x, 'up_proj')), 'down_proj'))
}
