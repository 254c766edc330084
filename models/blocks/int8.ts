import { matMulIntegerToFloat } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { abs, div, expand, f32, filled, mul, quantizeLinear, reduceMax, reshape, unflattenRows, sizeOf, transpose } from '../onnx/ops.ts'
import { dimAt, productOf } from '../onnx/shapes.ts'

/*
 * Products in 8 bits with one scale for each row of the activations and one for each output of the weights. A scale for
 * the whole tensor (DynamicQuantizeMatMul) is as fast and fails on LLaMA: a few of its tokens are a thousand times larger
 * than all others, which then round to zero. With a scale for each row every token keeps its own 8 bits. Activations are
 * u8 around 128 and weights i8, because ONNX Runtime has its fast kernels (AVX512-VNNI, AVX-VNNI) for that pair alone.
 */

const MIDDLE = 128
const LARGEST = 127

/**
 * Values in 8 bits and their scales in f32. Activations [...,in] as rows: u8 [rows,in] around 128 and [rows,1]. A matrix: i8 [in,out] and
 * [out], or one per head: [heads,in,out] and [heads,1,out].
 */
export interface Int8 {
  readonly values: Value
  readonly scales: Value
}

/** Cached by value, since several matrices read the same activations. Both must be used in the body of x, or inside it. */
const known = new WeakMap<Value, Int8>()

/**
 * Quantises each row of x [...,in] to 8 bits by its largest magnitude: u8 around 128, or i8 around 0 for the right side of a product. A row
 * of zeros stays zero: its scale is 0.
 */
export function int8Rows(x: Value, middle: 0 | typeof MIDDLE = MIDDLE): Int8 {
  const before = known.get(x)
  if (before && middle === MIDDLE) return before
  const rows = x.graph.scope('int8', () => {
    const flat = reshape(x, [productOf(x.shape.slice(0, -1)), dimAt(x.shape, -1)])
    const count = dimAt(flat.shape, 0)
    const scales = reshape(div(reduceMax(abs(flat), -1, true), f32(x.graph, LARGEST)), [count])
    const one = filled(x.graph, middle === MIDDLE ? 'u8' : 'i8', [typeof count === 'number' ? count : 1], middle)
    const middles = typeof count === 'number' ? one : expand(one, sizeOf(scales, 0), [count])
    // The reduction gives empty inputs a wrong width, which this corrects.
    return { values: quantizeLinear(flat, scales, middles, 0), scales: reshape(scales, [count, 1]) }
  })
  if (middle === MIDDLE) known.set(x, rows)
  return rows
}

/** x [...,in] times the matrix [in,out] -> [...,out]. */
export function int8Product(x: Value, matrix: Int8): Value {
  const { values, scales } = int8Rows(x)
  return unflattenRows(mul(matMulIntegerToFloat(values, matrix.values, matrix.scales, MIDDLE), scales), x)
}

/** x [heads,N,in] times one matrix per head [heads,in,out] -> [heads,N,out]. */
export function int8HeadProduct(x: Value, matrix: Int8): Value {
  const { values, scales } = int8Rows(x)
  const byHead = matMulIntegerToFloat(reshape(values, x.shape), matrix.values, matrix.scales, MIDDLE)
  return mul(byHead, reshape(scales, [...x.shape.slice(0, -1), 1]))
}

/** x [rows,in] times y [columns,in] transposed -> [rows,columns]; both are activations with one scale per row. */
export function int8Transposed(x: Value, y: Value): Value {
  const [left, right] = [int8Rows(x), int8Rows(y, 0)]
  const columns = dimAt(y.shape, 0)
  const product = matMulIntegerToFloat(left.values, transpose(right.values, [1, 0]), reshape(right.scales, [columns]), MIDDLE)
  return mul(product, left.scales)
}
