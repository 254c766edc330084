import { at } from '../../base/at.ts'
import type { Attributes, TypeOf, Value } from './graph.ts'
import { append, f32, filled, matmulShape, requireElem, requireRank } from './ops.ts'
import { CONTRIB_DOMAIN, type Dim, dimAt, GraphError, sameShape, widthOf, withDim } from './shapes.ts'

/*
 * Fused operators of ONNX Runtime's com.microsoft domain, documented in its docs/ContribOperators.md. Attributes that
 * the graphs leave at their defaults are not offered.
 */

function contrib(op: string, inputs: readonly (Value | null)[], type: TypeOf, attributes?: Attributes): Value {
  return append({ op, domain: CONTRIB_DOMAIN }, inputs, type, attributes)
}

/** a @ b, with b transposed in its last two axes if set: weights are used as checkpoints store them, [out,in]. */
export function fusedMatmul(a: Value, b: Value, { transB }: { readonly transB: boolean }): Value {
  const type = { elem: a.elem, shape: matmulShape('FusedMatMul', a, b, transB) }
  return contrib('FusedMatMul', [a, b], type, { transA: 0, transB: transB ? 1 : 0 })
}

/** SiLU: x * sigmoid(x). */
export function silu(x: Value): Value {
  return contrib('QuickGelu', [x], x, { alpha: { float: 1 } })
}

/** RMSNorm of x + residual -> [normed, x + residual]; rank 2 or 3. */
export function skipRmsNorm(x: Value, residual: Value, weight: Value, epsilon: number): readonly [Value, Value] {
  const op = 'SkipSimplifiedLayerNormalization'
  requireRank(op, x, 2, 3)
  if (!sameShape(x.shape, residual.shape)) throw new GraphError(`${op}: unequal shapes`)
  // The skipped outputs are training statistics.
  const outputs = x.graph.add({ op, domain: CONTRIB_DOMAIN }, [x, residual, weight], [x, null, null, x], { epsilon: { float: epsilon } })
  return [at(outputs, 0), at(outputs, 1)]
}

/** SkipLayerNormalization: LayerNormalization of x + residual. */
export function skipLayerNorm(x: Value, residual: Value, norm: { readonly weight: Value; readonly bias: Value }, epsilon: number): Value {
  return contrib('SkipLayerNormalization', [x, residual, norm.weight, norm.bias], x, { epsilon: { float: epsilon } })
}

/** Waves of a rotary embedding: cosines and sines [positions, head_dim/2]. */
export interface Waves {
  readonly cos: Value
  readonly sin: Value
  /** Pair j is channels (2j, 2j + 1), not (j, j + head_dim/2). */
  readonly interleaved?: boolean
}

/** Rotary embedding of x [B,L,heads*head_dim], with rows of the waves at positions i64 [B,L]. */
export function rotaryEmbedding(x: Value, positions: Value, { cos, sin, interleaved = false }: Waves, heads: number): Value {
  requireRank('RotaryEmbedding', x, 3)
  requireElem('RotaryEmbedding', positions, 'i64')
  return contrib('RotaryEmbedding', [x, positions, cos, sin], x, { num_heads: heads, interleaved: interleaved ? 1 : 0 })
}

export type Projections = Readonly<Record<'q' | 'k' | 'v', Value>>

/**
 * Attention without causality: q [B,L,d]; k, v [B,T,d] -> [B,L,d], scores scaled by 1/sqrt(head_dim). keyMask i32 [B,T] hides keys with 0;
 * a row that hides all of its keys is undefined. T = 0 gives zeros. A bias, broadcast to [B,heads,L,T], is added to the scores.
 */
export function multiHeadAttention({ q, k, v }: Projections, heads: number, keyMask: Value | null, bias: Value | null = null): Value {
  requireRank('MultiHeadAttention', q, 3)
  if (keyMask) requireElem('MultiHeadAttention', keyMask, 'i32')
  return contrib('MultiHeadAttention', [q, k, v, null, keyMask, ...(bias ? [bias] : [])], q, { num_heads: heads })
}

/** Tokens of a prompt: keys and values of its beginning, if read before; the index of its last one; their number, and its dimension. */
export interface PromptTokens {
  readonly before: { readonly keys: Value; readonly values: Value } | null
  readonly lastIndex: Value
  readonly total: Value
  readonly dim: Dim
}

type GroupedHeads = Readonly<Record<'heads' | 'kvHeads', number> & Partial<Record<'scale' | 'cap' | 'window', number | undefined>>>

/**
 * Causal self-attention of a whole prompt, rotary embedding included where its waves are given: q [1,L,heads*head_dim];
 * k, v [1,L,kv_heads*head_dim], and keys and values of the tokens before, if any, [1,kv_heads,P,head_dim] ->
 * output [1,L,heads*head_dim] and the rotated keys and the values [1,kv_heads,P+L,head_dim]. lastIndex i32 [1] is P + L - 1,
 * total i32 scalar is P + L. Scores may have another scale than 1/sqrt(head_dim) and be capped (cap tanh(s / cap)); with a
 * window a token sees so many, itself included.
 */
export function groupQueryAttention(
  { q, k, v }: Projections,
  { before, lastIndex, total, dim }: PromptTokens,
  waves: Waves | null,
  { heads, kvHeads, scale, cap, window }: GroupedHeads,
): readonly [Value, Value, Value] {
  const op = 'GroupQueryAttention'
  requireElem(op, lastIndex, 'i32')
  requireElem(op, total, 'i32')
  const cache = { elem: k.elem, shape: [dimAt(k.shape, 0), kvHeads, dim, widthOf(k) / kvHeads] }
  const outputs = q.graph.add(
    { op, domain: CONTRIB_DOMAIN },
    [q, k, v, before?.keys ?? null, before?.values ?? null, lastIndex, total, ...(waves ? [waves.cos, waves.sin] : [])],
    [q, cache, cache],
    {
      num_heads: heads,
      kv_num_heads: kvHeads,
      do_rotary: waves ? 1 : 0,
      ...(scale !== undefined && { scale: { float: scale } }),
      ...(cap !== undefined && { softcap: { float: cap } }),
      ...(window !== undefined && { local_window_size: window }),
    },
  )
  return [at(outputs, 0), at(outputs, 1), at(outputs, 2)]
}

/**
 * x u8 [...,M,in] around `middle` @ weights i8 [...,in,out] -> f32 [...,M,out], scaled by the weights' scales f32 [out] or [...,1,out]; x
 * counts as integers, and the caller applies its scales.
 */
export function matMulIntegerToFloat(x: Value, weights: Value, scales: Value, middle: number): Value {
  const op = 'MatMulIntegerToFloat'
  requireElem(op, x, 'u8')
  requireElem(op, weights, 'i8')
  requireElem(op, scales, 'f32')
  if (dimAt(x.shape, -1) !== dimAt(weights.shape, -2)) throw new GraphError(`${op}: inner sizes differ`)
  return contrib(op, [x, weights, f32(x.graph, 1), scales, filled(x.graph, 'u8', [], middle)], {
    elem: 'f32',
    shape: withDim(x.shape, -1, dimAt(weights.shape, -1)),
  })
}

interface QuantizedMatrix {
  /** u8 [out, blocks, block bytes] */
  readonly values: Value
  /** [out * blocks], the type of x */
  readonly scales: Value
  /** u8 [out * packed zero points of a row] */
  readonly zeroPoints: Value
  readonly bits: 4 | 8
  readonly blockSize: number
  readonly inSize: number
  readonly outSize: number
}

/** x [...,in] @ dequantised^T (+ bias [out]) -> [...,out]. accuracy_level 4: the fastest CPU kernels, which quantise x to int8 blocks. */
export function matMulNBits(x: Value, matrix: QuantizedMatrix, bias: Value | null): Value {
  if (dimAt(x.shape, -1) !== matrix.inSize) throw new GraphError('MatMulNBits: inner sizes differ')
  const { bits, blockSize, inSize, outSize } = matrix
  const type = { elem: x.elem, shape: withDim(x.shape, -1, outSize) }
  const inputs = [x, matrix.values, matrix.scales, matrix.zeroPoints]
  return contrib('MatMulNBits', bias ? [...inputs, null, bias] : inputs, type, {
    K: inSize,
    N: outSize,
    bits,
    block_size: blockSize,
    accuracy_level: 4,
  })
}
