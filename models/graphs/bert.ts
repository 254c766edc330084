import type { BertConfig } from '../checkpoint/config/config.ts'
import type { Params } from '../blocks/params.ts'
import { multiHeadAttention, skipLayerNorm } from '../onnx/contrib.ts'
import type { Value } from '../onnx/graph.ts'
import { add, cast, gather, gelu, i64, i64s, layerNormalization, reshape, reshapeLike, sizeOf, slice } from '../onnx/ops.ts'

/** BERT's residual and post-norm: LayerNorm(dense(x) + residual); x [N,in], residual [N,d]. */
function denseNorm(params: Params, x: Value, residual: Value, epsilon: number): Value {
  return params.in('output', (p) => {
    const projected = p.linear(x, 'dense', { bias: true })
    return p.in('LayerNorm', (norm) =>
      skipLayerNorm(projected, residual, { weight: norm.tensor('weight'), bias: norm.tensor('bias') }, epsilon),
    )
  })
}

/** One BERT layer over tokens [B*L,d]; `rows` [B,L,d] provides the sizes for the attention. */
function bertLayer(
  params: Params,
  x: Value,
  { rows, keyMask }: { readonly rows: Value; readonly keyMask: Value },
  { heads, layerNormEps }: BertConfig,
): Value {
  const attended = params.in('attention', (p) => {
    const context = p.in('self', (q) => {
      const projected = (name: string): Value => reshapeLike(q.linear(x, name, { bias: true }), rows)
      const projections = { q: projected('query'), k: projected('key'), v: projected('value') }
      return reshapeLike(multiHeadAttention(projections, heads, keyMask), x)
    })
    return denseNorm(p, context, x, layerNormEps)
  })
  const inner = params.in('intermediate', (p) => gelu(p.linear(attended, 'dense', { bias: true })))
  return denseNorm(params, inner, attended, layerNormEps)
}

/** BERT's input: i64 [B,L], padding on the right; `types` for texts of two parts. */
export interface BertInput {
  readonly ids: Value
  readonly mask: Value
  readonly types?: Value
}

/** Last states f32 [B,L,d]. */
export function bertStates(params: Params, config: BertConfig, { ids, mask, types }: BertInput): Value {
  const { graph } = params
  const { hiddenSize, firstPosition } = config
  const keyMask = cast(mask, 'i32')
  const rows = params.in('embeddings', (p) => {
    const table = (name: string): Value => p.in(name, (q) => q.tensor('weight'))
    const start = i64s(graph, [firstPosition])
    const positions = slice(table('position_embeddings'), 0, { start, end: add(sizeOf(ids, 1), start) }, 'L')
    const type = gather(table('token_type_embeddings'), types ?? i64(graph, 0))
    const summed = add(add(p.embedding('word_embeddings', ids), positions), type)
    return p.in('LayerNorm', (norm) => layerNormalization(summed, norm.tensor('weight'), norm.tensor('bias'), config.layerNormEps))
  })
  let x = reshape(rows, ['B*L', hiddenSize])
  params.in('encoder', (p) => {
    for (let i = 0; i < config.layers; i++) x = p.in(`layer.${i}`, (layer) => bertLayer(layer, x, { rows, keyMask }, config))
  })
  return cast(reshapeLike(x, rows), 'f32')
}

/** The state of [CLS], the first token: [B,L,d] -> [B,d]. */
export function firstState(states: Value, hiddenSize: number): Value {
  const { graph } = states
  return reshape(slice(states, 1, { start: i64s(graph, [0]), end: i64s(graph, [1]) }, 1), ['B', hiddenSize])
}
