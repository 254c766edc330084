import { skipRmsNorm } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { add, cast, div, f32, mul, reduceMean, reshape, sqrt } from '../onnx/ops.ts'
import { dimAt, widthOf } from '../onnx/shapes.ts'
import type { Params } from './params.ts'

/** The residual stream between two sublayers: its value is x + delta, added by the next norm. */
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

/** RMSNorm of x with the weight `name`.weight. */
export function norm(p: Params, x: Value, name: string, epsilon: number): Value {
  return p.in(name, (q) => rmsNorm(x, q.tensor('weight'), epsilon))
}

/** RMSNorm of each head of x [B,L,heads*head_dim], one weight `name`.weight [head_dim] for all. */
export function normHeads(
  p: Params,
  x: Value,
  name: string,
  { headDim, rmsNormEps }: { readonly headDim: number; readonly rmsNormEps: number },
): Value {
  const [batch, length, width] = [dimAt(x.shape, 0), dimAt(x.shape, 1), widthOf(x)]
  const byHead = reshape(x, [batch, length, width / headDim, headDim])
  return reshape(norm(p, byHead, name, rmsNormEps), [batch, length, width])
}
