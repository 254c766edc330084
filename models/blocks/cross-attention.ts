import { present } from '../../base/at.ts'
import { ifElse } from '../onnx/control.ts'
import { fusedMatmul } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { i64, i64s, last, lessOrEqual, min, reduceMean, reshape, reshapeLike, sizeOf, softmax, transpose } from '../onnx/ops.ts'
import { dimAt, productOf, widthOf, type Dim } from '../onnx/shapes.ts'
import { openAttention, type Heads } from './attention.ts'
import { int8Rows, int8Transposed } from './int8.ts'
import type { Params } from './params.ts'
import type { Precision } from './precision.ts'
import { scaleQueries } from './scores.ts'

/*
 * Cross-attention over phi [m, d_enc], the rows of all passages' encoder states (CEPE, section 2): queries from the
 * decoder, keys and values projected from phi, no positions, scores scaled by 1/sqrt(head_dim), m may be 0. With grouped
 * keys, query head h reads key head floor(h / (heads / kv_heads)): the heads of a group are so many more queries of one.
 *
 * Two ways to compute the same thing. Projected: K = phi Wk^T and V = phi Wv^T are made once for all queries; cheapest
 * for many queries. Absorbed (EL-attention, Yan et al. 2021): Wk is applied to the query and Wv to the weighted mean of
 * phi, so that nothing is made per context row; cheapest for few queries.
 */

/** phi [m,d_enc] and its transpose: the absorbed products use whichever needs no repacking, 1.3 to 1.7 times faster. */
export interface Context {
  readonly phi: Value
  readonly transposed: Value
  /** i64 [1]: 1 if phi has rows, else 0. */
  readonly given: Value
}

/** Call in the main graph: what is derived from phi once is used in its branches and loops. */
export function contextOf(phi: Value, { context }: Pick<Precision, 'context'>): Context {
  if (context) phi.graph.scope('phi', () => int8Rows(phi))
  return { phi, transposed: transpose(phi, [1, 0]), given: min(sizeOf(phi, 0), i64s(phi.graph, [1])) }
}

/**
 * Number of queries up to which the absorbed form needs fewer operations. Per context row, n queries cost 4 n heads d_enc absorbed, and 4
 * d_enc kv_heads head_dim + 4 n heads head_dim projected; about 150 for CEPE-LLaMA-2-7B, as measured. In 8 bits a projection takes a third
 * of the time and the absorbed form two thirds: half as many.
 */
function absorbedQueries({ heads, kvHeads, headDim }: Heads, encoderWidth: number, { context }: Pick<Precision, 'context'>): number {
  const extra = heads * (encoderWidth - headDim)
  if (extra <= 0) return Number.MAX_SAFE_INTEGER
  return Math.floor((encoderWidth * kvHeads * headDim) / extra / (context ? 2 : 1))
}

/** Dimension of one query, or none. */
const ONE = 'one'

/** Attention shares [heads*N, m] of queries [heads,N,head_dim]. */
function absorbedShares(p: Params, q: Value, { phi }: Context, { heads, kvHeads, headDim }: Heads): Value {
  const queries = dimAt(q.shape, 1)
  const scaled = scaleQueries(q, headDim)
  const inPhi = p.byHead(reshape(scaled, [kvHeads, productOf([heads / kvHeads, queries]), headDim]), 'k_proj', kvHeads, { transB: false })
  const flat = reshape(inPhi, [productOf([heads, queries]), widthOf(phi)])
  const scores = p.precision.context ? int8Transposed(phi, flat) : fusedMatmul(phi, flat, { transB: true })
  return softmax(transpose(scores, [1, 0]))
}

/** [heads,N,head_dim] from the shares [heads*N, m] of N queries. */
function absorbedContext(
  p: Params,
  shares: Value,
  { phi, transposed }: Context,
  { queries, heads, kvHeads, headDim }: Heads & { readonly queries: Dim },
): Value {
  const mean = transpose(fusedMatmul(transposed, shares, { transB: true }), [1, 0])
  const grouped = reshape(mean, [kvHeads, productOf([heads / kvHeads, queries]), widthOf(phi)])
  return reshape(p.byHead(grouped, 'v_proj', kvHeads, { transB: true }), [heads, queries, headDim])
}

/** q [1,N,heads*head_dim] -> the same shape, with keys and values projected from all of phi. */
function projected(p: Params, q: Value, phi: Value, heads: Heads): Value {
  const all = (y: Value): Value => reshape(y, [1, dimAt(phi.shape, 0), widthOf(y)])
  return openAttention({ q, k: all(p.contextLinear(phi, 'k_proj')), v: all(p.contextLinear(phi, 'v_proj')) }, null, heads)
}

/** Input of a cross-attention: its layer's parameters and normed input, phi, and the shape of its heads. */
interface CrossAttention {
  readonly params: Params
  readonly x: Value
  readonly context: Context
  readonly heads: Heads
}

export interface CrossAttended {
  readonly output: Value
  /** [m]: the last query's attention on each row of phi, averaged over heads. */
  readonly share: Value
}

/** q [1,N,heads*head_dim] -> the same shape, in the form that is faster for N queries, chosen at run time. */
function absorbedOrProjected(p: Params, q: Value, context: Context, heads: Heads): Value {
  const queries = dimAt(q.shape, 1)
  const few = lessOrEqual(reshape(sizeOf(q, 1), []), i64(q.graph, absorbedQueries(heads, widthOf(context.phi), p.precision)))
  const absorb = (): Value => {
    const byHead = transpose(reshape(q, [queries, heads.heads, heads.headDim]), [1, 0, 2])
    const attended = absorbedContext(p, absorbedShares(p, byHead, context, heads), context, { ...heads, queries })
    return reshape(transpose(attended, [1, 0, 2]), [1, queries, widthOf(q)])
  }
  const [attended] = ifElse(
    few,
    () => [absorb()],
    () => [projected(p, q, context.phi, heads)],
  )
  return present(attended)
}

/** The last of the queries q [1,N,heads*head_dim], if there is one, as [heads,ONE,head_dim]. */
function lastByHead(q: Value, { heads, headDim }: Heads): Value {
  return reshape(last(q, 1), [heads, ONE, headDim])
}

/** Over a whole prompt: x [1,N,d_dec]. Projected keys and values of phi live for this call only. */
export function promptCrossAttention({ params, x, context, heads }: CrossAttention): CrossAttended {
  return params.in('cross_attn', (p) => {
    const q = p.linear(x, 'q_proj')
    const share = reduceMean(absorbedShares(p, lastByHead(q, heads), context, heads), 0)
    return { output: p.linear(absorbedOrProjected(p, q, context, heads), 'o_proj'), share }
  })
}

/** For one token: x [1,N,d_dec], absorbed; N is 1 or 0. */
export function decodeCrossAttention({ params, x, context, heads }: CrossAttention): CrossAttended {
  return params.in('cross_attn', (p) => {
    const q = p.linear(x, 'q_proj')
    const shares = absorbedShares(p, lastByHead(q, heads), context, heads)
    const attended = reshapeLike(absorbedContext(p, shares, context, { ...heads, queries: ONE }), q)
    return { output: p.linear(attended, 'o_proj'), share: reduceMean(shares, 0) }
  })
}

/** For any number of tokens: x [B,N,d_dec], all rows over the same phi. */
export function stepCrossAttention({ params, x, context, heads }: CrossAttention): Pick<CrossAttended, 'output'> {
  return params.in('cross_attn', (p) => {
    const q = p.linear(x, 'q_proj')
    const flat = reshape(q, [1, 'B*N', widthOf(q)])
    return { output: p.linear(reshapeLike(absorbedOrProjected(p, flat, context, heads), q), 'o_proj') }
  })
}
