import type { ModernBertConfig } from '../checkpoint/config/config.ts'
import type { Params } from '../blocks/params.ts'
import { ropeOf, rotate, type Rotations } from '../blocks/rotations.ts'
import { multiHeadAttention } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { abs, add, cast, gelu, i64, i64s, layerNormalization, lessOrEqual, mul, range, reshape, sizeOf, slice, sub } from '../onnx/ops.ts'
import type { BertInput } from './bert.ts'
import { byLayer, positionsOf, scoreBias } from './layer-kinds.ts'

/** Attention of a layer's tokens. */
interface Attention {
  readonly rotations: Rotations
  readonly keyMask: Value
  /** Bias of the scores; null if all tokens see all. */
  readonly bias: Value | null
}

/** Part `index` of the last axis of x [B,L,parts*width]. */
function part(x: Value, index: number, width: number): Value {
  const at = (i: number): Value => i64s(x.graph, [i * width])
  return slice(x, 2, { start: at(index), end: at(index + 1) }, width)
}

function norm(params: Params, x: Value, name: string, epsilon: number): Value {
  return params.in(name, (p) => layerNormalization(x, p.tensor('weight'), null, epsilon))
}

/** One layer; the first reads the embeddings, which are already normalised. */
function layer(
  params: Params,
  x: Value,
  { rotations, keyMask, bias, isFirst }: Attention & { readonly isFirst: boolean },
  config: ModernBertConfig,
): Value {
  const { hiddenSize, intermediateSize, heads, layerNormEps } = config
  const input = isFirst ? x : norm(params, x, 'attn_norm', layerNormEps)
  const attended = params.in('attn', (p) => {
    const qkv = p.linear(input, 'Wqkv')
    const [q, k, v] = [part(qkv, 0, hiddenSize), part(qkv, 1, hiddenSize), part(qkv, 2, hiddenSize)]
    const turned = { q: rotate(q, 'queries', rotations, heads), k: rotate(k, 'keys', rotations, heads), v }
    return p.linear(multiHeadAttention(turned, heads, keyMask, bias), 'Wo')
  })
  const stream = add(x, attended)
  const normed = norm(params, stream, 'mlp_norm', layerNormEps)
  const written = params.in('mlp', (p) => {
    const gated = p.linear(normed, 'Wi')
    return p.linear(mul(gelu(part(gated, 0, intermediateSize)), part(gated, 1, intermediateSize)), 'Wo')
  })
  return add(stream, written)
}

/** Whether two tokens of a text of length i64 [1] are within the distance: bool [1,1,L,L]. */
function within(length: Value, distance: number): Value {
  const indices = range(reshape(length, []), 'L')
  const apart = abs(sub(reshape(indices, [1, 1, 'L', 1]), reshape(indices, [1, 1, 1, 'L'])))
  return lessOrEqual(apart, i64(length.graph, distance))
}

/** Last states f32 [B,L,d] of ModernBERT (Warner et al. 2024). Padding on the right. */
export function modernBertStates(params: Params, config: ModernBertConfig, { ids, mask }: BertInput): Value {
  const { graph, precision } = params
  const { hiddenSize, heads, window, ropeTheta } = config
  const keyMask = cast(mask, 'i32')
  const positions = positionsOf(mask)
  const attention = byLayer(config, (local): Attention => {
    const rotary = { headDim: hiddenSize / heads, window, ropeTheta: local?.ropeTheta ?? ropeTheta, ropeScaling: null }
    const rope = ropeOf(graph, rotary, local ? 'local' : 'global', precision.float)
    const bias = local && scoreBias(within(sizeOf(ids, 1), local.window), precision.float)
    return { rotations: rope.at(positions, () => sizeOf(ids, 1)), keyMask, bias }
  })
  let x = params.in('embeddings', (p) => norm(p, p.embedding('tok_embeddings', ids), 'norm', config.layerNormEps))
  for (let i = 0; i < config.layers; i++) x = params.in(`layers.${i}`, (p) => layer(p, x, { ...attention.of(i), isFirst: i === 0 }, config))
  return cast(norm(params, x, 'final_norm', config.layerNormEps), 'f32')
}
