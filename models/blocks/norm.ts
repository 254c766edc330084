import { skipRmsNorm } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { add, cast, div, f32, mul, reduceMean, sqrt } from '../onnx/ops.ts'
import type { Params } from './params.ts'

/** The residual stream between two sublayers: its value is x + delta, added where the next norm reads it. */
export interface Residual {
  readonly x: Value
  readonly delta: Value | null
}

/** x / sqrt(mean(x^2) + epsilon) * weight in f32. ONNX Runtime fuses the pattern into one kernel. */
function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const exact = cast(x, 'f32')
  const scale = sqrt(add(reduceMean(mul(exact, exact), -1, true), f32(x.graph, epsilon)))
  return mul(cast(div(exact, scale), x.elem), weight)
}

/** RMSNorm of the stream with the weight `name`.weight: [normed, the stream itself]; both the shape of x. */
export function normStream(p: Params, { x, delta }: Residual, name: string, epsilon: number): readonly [Value, Value] {
  return p.in(name, (q) => (delta ? skipRmsNorm(x, delta, q.tensor('weight'), epsilon) : [rmsNorm(x, q.tensor('weight'), epsilon), x]))
}
