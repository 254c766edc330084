import type { LlamaConfig } from '../checkpoint/config/config.ts'
import { fusedMatmul } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { add, cast, concat, f32, f32s, matmul, mul, sizeOf, softmax, splitLast, tanh } from '../onnx/ops.ts'
import { dimAt } from '../onnx/shapes.ts'

/** Rotated keys and values, each [B,kv_heads,T,head_dim]. */
export interface KeyValues {
  readonly keys: Value
  readonly values: Value
}

/**
 * q [...,head_dim] / sqrt(head_dim), or times another scale. The queries are scaled because a product with alpha = 1 uses the vector-matrix
 * kernels; by a vector over the last axis, because ONNX Runtime's optimiser (MatMulScaleFusion) folds a scalar back into alpha, which makes
 * the product three times slower.
 */
export function scaleQueries(q: Value, headDim: number, scale = headDim ** -0.5): Value {
  return mul(q, cast(f32s(q.graph, [headDim], new Array<number>(headDim).fill(scale)), q.elem))
}

/** cap tanh(x / cap). */
export function capped(x: Value, cap: number): Value {
  const by = (number: number): Value => cast(f32(x.graph, number), x.elem)
  return mul(tanh(mul(x, by(1 / cap))), by(cap))
}

/** Grouped keys and values of attention, and the bias of their scores: broadcast to [B,kv_heads,group,L,T], or null. */
export interface Block extends KeyValues {
  readonly bias: Value | null
}

/** Softmax attention over one or two blocks of keys, not concatenated: queries [B,kv_heads,group,L,head_dim] -> the same shape. */
export function attend(
  q: Value,
  blocks: readonly [Block] | readonly [Block, Block],
  { headDim, scoreScale, scoreCap }: Pick<LlamaConfig, 'headDim' | 'scoreScale' | 'scoreCap'>,
): Value {
  const scaled = scaleQueries(q, headDim, scoreScale)
  const scoresOf = ({ keys, bias }: Block): Value => {
    const product = fusedMatmul(scaled, keys, { transB: true })
    const scores = scoreCap === null ? product : capped(product, scoreCap)
    return bias ? add(scores, bias) : scores
  }
  const [first, second] = blocks
  const scores = scoresOf(first)
  if (!second) return matmul(softmax(scores), first.values)
  const shares = softmax(concat([scores, scoresOf(second)], -1, 'all keys'))
  const sizes = concat([sizeOf(first.keys, 3), sizeOf(second.keys, 3)], 0)
  const [firstShares, secondShares] = splitLast(shares, sizes, dimAt(first.keys.shape, 3), dimAt(second.keys.shape, 3))
  return add(matmul(firstShares, first.values), matmul(secondShares, second.values))
}
