import { at } from '../../base/at.ts'
import type { Attributes, Graph, Operator, TypeOf, Value } from './graph.ts'
import { broadcast, dimAt, ELEMS, formatShape, GraphError, sameShape, widthOf, withDim, type Dim, type Elem, type Shape } from './shapes.ts'

/*
 * Operators of the default domain, opset 21, as functions from values to values: result types and shapes follow
 * https://onnx.ai/onnx/operators. Only what the graphs use, only the forms they use.
 */

export function append(operator: Operator, inputs: readonly (Value | null)[], type: TypeOf, attributes?: Attributes): Value {
  const graph = inputs.find((input) => input !== null)?.graph
  const [value] = graph?.add(operator, inputs, [type], attributes) ?? []
  if (!value) throw new GraphError(`${operator.op} has no input`)
  return value
}

function node(op: string, inputs: readonly (Value | null)[], type: TypeOf, attributes?: Attributes): Value {
  return append({ op, domain: '' }, inputs, type, attributes)
}

export function requireElem(op: string, value: Value, ...allowed: Elem[]): void {
  if (!allowed.includes(value.elem)) throw new GraphError(`${op}: ${value.elem} given, ${allowed.join(' or ')} expected`)
}

export function requireRank(op: string, value: Value, ...ranks: number[]): void {
  if (!ranks.includes(value.shape.length))
    throw new GraphError(`${op}: rank ${ranks.join(' or ')} expected, shape ${formatShape(value.shape)} given`)
}

// Constants

export function i64s(graph: Graph, values: readonly number[]): Value {
  return graph.constant('i64', [values.length], new Uint8Array(BigInt64Array.from(values, BigInt).buffer))
}
export function i64(graph: Graph, value: number): Value {
  return graph.constant('i64', [], new Uint8Array(BigInt64Array.of(BigInt(value)).buffer))
}
export function f32(graph: Graph, value: number): Value {
  return graph.constant('f32', [], new Uint8Array(Float32Array.of(value).buffer))
}
export function f32s(graph: Graph, shape: readonly number[], values: readonly number[]): Value {
  return graph.constant('f32', shape, new Uint8Array(Float32Array.from(values).buffer))
}

export function filled(graph: Graph, elem: 'u8' | 'i8', shape: readonly number[], value: number): Value {
  return graph.constant(elem, shape, new Uint8Array(shape.reduce((a, b) => a * b, 1)).fill(value))
}

// Elementwise

function binary(op: string, result?: 'bool') {
  return (a: Value, b: Value): Value => {
    requireElem(op, b, a.elem)
    return node(op, [a, b], { elem: result ?? a.elem, shape: broadcast(a.shape, b.shape, op) })
  }
}
export const add = binary('Add')
export const sub = binary('Sub')
export const mul = binary('Mul')
export const div = binary('Div')
export const min = binary('Min')
export const max = binary('Max')
export const equal = binary('Equal', 'bool')
export const less = binary('Less', 'bool')
export const lessOrEqual = binary('LessOrEqual', 'bool')
export const and = binary('And')

export function where(condition: Value, a: Value, b: Value): Value {
  requireElem('Where', condition, 'bool')
  requireElem('Where', b, a.elem)
  return node('Where', [condition, a, b], {
    elem: a.elem,
    shape: broadcast(condition.shape, broadcast(a.shape, b.shape, 'Where'), 'Where'),
  })
}

function unary(op: string, attributes?: Attributes) {
  return (x: Value): Value => node(op, [x], x, attributes)
}
export const not = unary('Not')
export const abs = unary('Abs')
export const sqrt = unary('Sqrt')
export const cos = unary('Cos')
export const sin = unary('Sin')
export const tanh = unary('Tanh')
/** Gelu in its exact erf form. */
export const gelu = unary('Gelu', { approximate: 'none' })
export const geluTanh = unary('Gelu', { approximate: 'tanh' })

/** Adds no node if the type is right already. */
export function cast(x: Value, elem: Elem): Value {
  return x.elem === elem ? x : node('Cast', [x], { elem, shape: x.shape }, { to: ELEMS[elem].code })
}

/** round(x / scale) + zero point, clipped to the zero point's 8 bits; a scale f32 and a zero point per index along `axis`. */
export function quantizeLinear(x: Value, scales: Value, zeroPoints: Value, axis: number): Value {
  requireElem('QuantizeLinear', x, 'f32')
  requireRank('QuantizeLinear', scales, 1)
  requireElem('QuantizeLinear', zeroPoints, 'u8', 'i8')
  if (!sameShape(scales.shape, [dimAt(x.shape, axis)]))
    throw new GraphError(`QuantizeLinear: ${formatShape(scales.shape)} scales for ${formatShape(x.shape)}`)
  return node('QuantizeLinear', [x, scales, zeroPoints], { elem: zeroPoints.elem, shape: x.shape }, { axis })
}

// Along an axis

function overLastAxis(op: string) {
  return (x: Value): Value => {
    requireElem(op, x, 'f32', 'f16')
    return node(op, [x], x, { axis: -1 })
  }
}
export const softmax = overLastAxis('Softmax')
export const logSoftmax = overLastAxis('LogSoftmax')

/** Index of the largest element of the last axis, the first of equals; drops that axis. */
export function argMax(x: Value): Value {
  return node('ArgMax', [x], { elem: 'i64', shape: x.shape.slice(0, -1) }, { axis: -1, keepdims: 0 })
}

function reduce(op: string) {
  return (x: Value, axis: number, keep = false): Value => {
    const shape = keep ? withDim(x.shape, axis, 1) : x.shape.toSpliced(axis < 0 ? axis + x.shape.length : axis, 1)
    return node(op, [x, i64s(x.graph, [axis])], { elem: x.elem, shape }, { keepdims: keep ? 1 : 0 })
  }
}
export const reduceMax = reduce('ReduceMax')
export const reduceSum = reduce('ReduceSum')
export const reduceMean = reduce('ReduceMean')

/** Running sum along axis 1 of [B,T]. */
export function cumSum(x: Value): Value {
  return node('CumSum', [x, i64(x.graph, 1)], x)
}

/** LayerNormalization over the last axis. */
export function layerNormalization(x: Value, scale: Value, bias: Value | null, epsilon: number): Value {
  return node('LayerNormalization', bias ? [x, scale, bias] : [x, scale], x, { axis: -1, epsilon: { float: epsilon } })
}

// Shapes

/** Reshapes to a shape in which at most one named dimension has moved. @throws GraphError if the runtime could not infer the sizes */
export function reshape(x: Value, shape: Shape): Value {
  const target = shape.map((dim, i) => (typeof dim === 'number' ? dim : x.shape[i] === dim ? 0 : -1))
  if (target.filter((dim) => dim === -1).length > 1)
    throw new GraphError(`Reshape ${formatShape(x.shape)} to ${formatShape(shape)} is ambiguous`)
  return sameShape(x.shape, shape) ? x : node('Reshape', [x, i64s(x.graph, target)], { elem: x.elem, shape })
}

/** Reshapes to the run-time shape of another value. */
export function reshapeLike(x: Value, like: Value): Value {
  return reshapeTo(x, node('Shape', [like], { elem: 'i64', shape: [like.shape.length] }), like.shape)
}

/** Reshapes to run-time sizes i64 [rank]; 0 is an ordinary size. */
export function reshapeTo(x: Value, sizes: Value, shape: Shape): Value {
  return node('Reshape', [x, sizes], { elem: x.elem, shape }, { allowzero: 1 })
}

/** All elements in one axis of the given size. */
export function flatten(x: Value, dim: Dim): Value {
  return node('Reshape', [x, i64s(x.graph, [-1])], { elem: x.elem, shape: [dim] })
}

/** Repeats x to the sizes i64 [rank]. */
export function expand(x: Value, sizes: Value, shape: Shape): Value {
  return node('Expand', [x, sizes], { elem: x.elem, shape })
}

/** Zeros of the sizes i64 [rank]. */
export function zeros(elem: Elem, sizes: Value, shape: Shape): Value {
  return expand(cast(f32(sizes.graph, 0), elem), sizes, shape)
}

export function transpose(x: Value, axes: readonly number[]): Value {
  return node('Transpose', [x], { elem: x.elem, shape: axes.map((axis) => dimAt(x.shape, axis)) }, { perm: axes })
}

/** `dim` names the concatenated dimension if it is not a sum of numbers. */
export function concat(values: readonly Value[], axis: number, dim?: Dim): Value {
  const [first] = values
  if (!first) throw new GraphError('Concat of nothing')
  const sizes = values.map((value) => dimAt(value.shape, axis))
  const joined =
    dim ??
    sizes.reduce<number>((sum, size) => {
      if (typeof size === 'string') throw new GraphError(`Concat: name the size of ${sizes.join(' + ')}`)
      return sum + size
    }, 0)
  for (const value of values) requireElem('Concat', value, first.elem)
  return node('Concat', values, { elem: first.elem, shape: withDim(first.shape, axis, joined) }, { axis })
}

/** Splits the last axis in two; `sizes` i64 [2] are the run-time sizes of the dimensions `left` and `right`. */
export function splitLast(x: Value, sizes: Value, left: Dim, right: Dim): readonly [Value, Value] {
  const parts = x.graph.add(
    { op: 'Split', domain: '' },
    [x, sizes],
    [left, right].map((dim) => ({ elem: x.elem, shape: withDim(x.shape, -1, dim) })),
    { axis: -1 },
  )
  return [at(parts, 0), at(parts, 1)]
}

/** x[..., start:end, ...] along an axis; bounds are i64 [1]; `dim` is the resulting size. */
export function slice(x: Value, axis: number, { start, end }: { readonly start: Value; readonly end: Value }, dim: Dim): Value {
  return node('Slice', [x, start, end, i64s(x.graph, [axis])], { elem: x.elem, shape: withDim(x.shape, axis, dim) })
}

/** The last element along an axis, which is kept with size 1. */
export function last(x: Value, axis: number): Value {
  return slice(x, axis, { start: i64s(x.graph, [-1]), end: i64s(x.graph, [Number.MAX_SAFE_INTEGER]) }, 1)
}

/** Rows of a table: table [N,...], indices of any shape. */
export function gather(table: Value, indices: Value): Value {
  requireElem('Gather', indices, 'i64')
  return node('Gather', [table, indices], { elem: table.elem, shape: [...indices.shape, ...table.shape.slice(1)] }, { axis: 0 })
}

/** Rows of x [N,...] where mask [N] is true: [dim,...]. */
export function compress(x: Value, mask: Value, dim: Dim): Value {
  requireElem('Compress', mask, 'bool')
  return node('Compress', [x, mask], { elem: x.elem, shape: withDim(x.shape, 0, dim) }, { axis: 0 })
}

/** Size along an axis, as i64 [1]. */
export function sizeOf(x: Value, axis: number): Value {
  return node('Shape', [x], { elem: 'i64', shape: [1] }, { start: axis, end: axis + 1 })
}

/** [rows,out] -> the leading axes of `like`, and out. */
export function unflattenRows(y: Value, like: Value): Value {
  const out = dimAt(y.shape, -1)
  const shape = [...like.shape.slice(0, -1), out]
  const named = shape.filter((size, i) => typeof size === 'string' && y.shape[i] !== size).length
  if (named <= 1) return reshape(y, shape)
  const leading = node('Shape', [like], { elem: 'i64', shape: [like.shape.length - 1] }, { start: 0, end: -1 })
  return reshapeTo(y, concat([leading, i64s(y.graph, [widthOf(y)])], 0), shape)
}

/** 0 .. n-1 as i64; n an i64 scalar. */
export function range(n: Value, dim: Dim): Value {
  requireRank('Range', n, 0)
  return node('Range', [i64(n.graph, 0), n, i64(n.graph, 1)], { elem: 'i64', shape: [dim] })
}

// Matrix products

/** Shape of a @ b, or of a @ b^T over the last two axes; leading axes broadcast. */
export function matmulShape(op: string, a: Value, b: Value, transB = false): Shape {
  if (a.shape.length < 2 || b.shape.length < 2) throw new GraphError(`${op}: ${formatShape(a.shape)} x ${formatShape(b.shape)}`)
  requireElem(op, b, a.elem)
  const inner = [dimAt(a.shape, -1), dimAt(b.shape, transB ? -1 : -2)]
  if (inner[0] !== inner[1])
    throw new GraphError(`${op}: ${formatShape(a.shape)} x ${formatShape(b.shape)}: inner sizes ${inner.join(' and ')} differ`)
  return [...broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2), op), dimAt(a.shape, -2), dimAt(b.shape, transB ? -2 : -1)]
}

export function matmul(a: Value, b: Value): Value {
  return node('MatMul', [a, b], { elem: a.elem, shape: matmulShape('MatMul', a, b) })
}

/** x [N,in], weight [out,in], bias [out] -> x weight^T + bias [N,out]. */
export function gemm(x: Value, weight: Value, bias: Value): Value {
  requireRank('Gemm', x, 2)
  return node('Gemm', [x, weight, bias], { elem: x.elem, shape: matmulShape('Gemm', x, weight, true) }, { transB: 1 })
}
