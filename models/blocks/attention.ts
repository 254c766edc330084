import type { LlamaConfig } from '../checkpoint/config/config.ts'
import { groupQueryAttention, multiHeadAttention, type Projections, type PromptTokens, type Waves } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { concat, reshape, reshapeLike, transpose } from '../onnx/ops.ts'
import { dimAt, productOf } from '../onnx/shapes.ts'
import { normHeads } from './norm.ts'
import type { Params } from './params.ts'
import { rotate, type Rotations } from './rotations.ts'
import { attend, type KeyValues } from './scores.ts'

export type Heads = Pick<LlamaConfig, 'heads' | 'kvHeads' | 'headDim'>

type SelfHeads = Heads & Pick<LlamaConfig, 'projectionBias' | 'headNorms' | 'rmsNormEps' | 'scoreScale' | 'scoreCap'>

export interface Attended extends KeyValues {
  readonly output: Value
}

/** Input of a self-attention: its layer's parameters and normed input, and the shape of its heads. */
interface SelfAttention {
  readonly params: Params
  readonly x: Value
  readonly heads: SelfHeads
}

/**
 * Attention without causality: q [B,L,heads*head_dim]; k, v [B,T,kv_heads*head_dim]; keyMask i32 [B,T] or null -> the shape of q. Query
 * head h reads key head floor(h / group). The queries of a group are rows of one key head, so keys and values are not repeated. A bias
 * [1,1,L,T] is added to the scores of every head.
 */
export function openAttention(
  { q, k, v }: Projections,
  keyMask: Value | null,
  { heads, kvHeads, headDim }: Heads,
  bias: Value | null = null,
): Value {
  const group = heads / kvHeads
  if (group === 1) return multiHeadAttention({ q, k, v }, heads, keyMask, bias)
  const [batch, length] = [dimAt(q.shape, 0), dimAt(q.shape, 1)]
  const rows = productOf([group, length])
  const byGroup = transpose(reshape(q, [batch, length, kvHeads, group, headDim]), [0, 3, 1, 2, 4])
  const groupBias = bias && concat(new Array<Value>(group).fill(bias), 2, rows)
  const attended = multiHeadAttention({ q: reshape(byGroup, [batch, rows, kvHeads * headDim]), k, v }, kvHeads, keyMask, groupBias)
  return reshapeLike(transpose(reshapeLike(attended, byGroup), [0, 2, 3, 1, 4]), q)
}

/** Queries, keys and values of x [B,L,d], before rotation. */
function projections(p: Params, x: Value, { projectionBias: bias, headNorms, headDim, rmsNormEps }: SelfHeads): Projections {
  const [q, k, v] = [p.linear(x, 'q_proj', { bias }), p.linear(x, 'k_proj', { bias }), p.linear(x, 'v_proj', { bias })]
  if (!headNorms) return { q, k, v }
  return { q: normHeads(p, q, 'q_norm', { headDim, rmsNormEps }), k: normHeads(p, k, 'k_norm', { headDim, rmsNormEps }), v }
}

/** The same with rotated queries and keys. */
function rotated(p: Params, x: Value, rotations: Rotations, heads: SelfHeads): Projections {
  const { q, k, v } = projections(p, x, heads)
  return { q: rotate(q, 'queries', rotations, heads.heads), k: rotate(k, 'keys', rotations, heads.kvHeads), v }
}

/** Self-attention of the encoder: x [B,L,d], keyMask i32 [B,L] -> [B,L,d]. Bidirectional without a bias [1,1,L,L]. */
export function encoderSelfAttention(
  { params, x, heads }: SelfAttention,
  rotations: Rotations,
  { keyMask, bias }: { readonly keyMask: Value; readonly bias: Value | null },
): Value {
  return params.in('self_attn', (p) => p.linear(openAttention(rotated(p, x, rotations, heads), keyMask, heads, bias), 'o_proj'))
}

/**
 * Causal self-attention over a prompt: its last tokens x [1,L,d]; their rotations, or waves by position for the operator; `tokens` as in
 * groupQueryAttention; a window for local attention.
 */
export function promptSelfAttention(
  { params, x, heads }: SelfAttention,
  rope: Waves | Rotations,
  tokens: PromptTokens,
  window: number | null,
): Attended {
  return params.in('self_attn', (p) => {
    const unrotated = 'cos' in rope
    const projected = unrotated ? projections(p, x, heads) : rotated(p, x, rope, heads)
    const [context, keys, values] = groupQueryAttention(projected, tokens, unrotated ? rope : null, {
      ...heads,
      scale: heads.scoreScale === heads.headDim ** -0.5 ? undefined : heads.scoreScale,
      cap: heads.scoreCap ?? undefined,
      window: window ?? undefined,
    })
    return { output: p.linear(context, 'o_proj'), keys, values }
  })
}

/** Keys and values in the layout of attention: [B,kv_heads,1,T,head_dim], one row of a key-value head for its group of query heads. */
export function groupedKeyValues({ keys, values }: KeyValues): KeyValues {
  const grouped = (x: Value): Value => reshape(x, [...x.shape.slice(0, 2), 1, ...x.shape.slice(2)])
  return { keys: grouped(keys), values: grouped(values) }
}

/**
 * Self-attention of new tokens over a cache with any padding: x [B,L,d], past [B,kv_heads,past,head_dim], bias [B,1,1,L,T] with T named
 * `total`. Returns the concatenated keys and values.
 */
export function cachedSelfAttention(
  { params, x, heads: selfHeads }: SelfAttention,
  rotations: Rotations,
  { past, bias, total }: { readonly past: KeyValues; readonly bias: Value; readonly total: string },
): Attended {
  const { heads, kvHeads, headDim } = selfHeads
  return params.in('self_attn', (p) => {
    const [batch, length] = [dimAt(x.shape, 0), dimAt(x.shape, 1)]
    const group = heads / kvHeads
    const { q, k, v } = rotated(p, x, rotations, selfHeads)
    const byHead = (y: Value): Value => transpose(reshape(y, [batch, length, kvHeads, headDim]), [0, 2, 1, 3])
    const keys = concat([past.keys, byHead(k)], 2, total)
    const values = concat([past.values, byHead(v)], 2, total)
    const queries = transpose(reshape(q, [batch, length, kvHeads, group, headDim]), [0, 2, 3, 1, 4])
    const context = transpose(attend(queries, [{ ...groupedKeyValues({ keys, values }), bias }], selfHeads), [0, 3, 1, 2, 4])
    return { output: p.linear(reshape(context, [batch, length, heads * headDim]), 'o_proj'), keys, values }
  })
}

/** What one new token attends to. */
interface Since {
  readonly prompt: KeyValues
  readonly since: KeyValues
  /** Name of the dimension of generated tokens, including the new one. */
  readonly made: string
  /** Score biases of prompt and generated tokens, if the token does not see all of them. */
  readonly hidden: { readonly prompt: Value; readonly since: Value } | null
}

/**
 * Self-attention of one new token over the prompt's constant keys and those of generated tokens: x [1,1,d], `prompt` grouped. Returns keys
 * and values of the generated tokens, of length `made`, including the new one.
 */
export function decodeSelfAttention(
  { params, x, heads: selfHeads }: SelfAttention,
  rotations: Rotations,
  { prompt, since, made, hidden }: Since,
): Attended {
  const { heads, kvHeads, headDim } = selfHeads
  return params.in('self_attn', (p) => {
    const { q, k, v } = rotated(p, x, rotations, selfHeads)
    const byHead = (y: Value): Value => reshape(y, [1, kvHeads, 1, headDim])
    const keys = concat([since.keys, byHead(k)], 2, made)
    const values = concat([since.values, byHead(v)], 2, made)
    const context = attend(
      reshape(q, [1, kvHeads, heads / kvHeads, 1, headDim]),
      [
        { ...prompt, bias: hidden?.prompt ?? null },
        { ...groupedKeyValues({ keys, values }), bias: hidden?.since ?? null },
      ],
      selfHeads,
    )
    return { output: p.linear(reshape(context, [1, 1, heads * headDim]), 'o_proj'), keys, values }
  })
}
