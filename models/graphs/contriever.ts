import type { ContrieverConfig } from '../checkpoint/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { multiHeadAttention, skipLayerNorm } from '../onnx/contrib.ts'
import { Graph, type Value } from '../onnx/graph.ts'
import {
  add,
  cast,
  div,
  f32,
  gather,
  gelu,
  i64,
  i64s,
  layerNormalization,
  max,
  mul,
  reduceSum,
  reshape,
  reshapeLike,
  sizeOf,
  slice,
  sqrt,
} from '../onnx/ops.ts'

/** As in PyTorch's normalize: a vector of zeros stays one. */
const SMALLEST_LENGTH = 1e-12

/** BERT's residual and post-norm: LayerNorm(dense(x) + residual); x [N,in], residual [N,d]. */
function denseNorm(params: Params, x: Value, residual: Value, epsilon: number): Value {
  return params.in('output', (p) => {
    const projected = p.linear(x, 'dense', { bias: true })
    return p.in('LayerNorm', (norm) =>
      skipLayerNorm(projected, residual, { weight: norm.tensor('weight'), bias: norm.tensor('bias') }, epsilon),
    )
  })
}

/** One BERT layer over tokens [B*L,d]; `rows` [B,L,d] has the sizes for the attention. */
function bertLayer(
  params: Params,
  x: Value,
  { rows, keyMask }: { readonly rows: Value; readonly keyMask: Value },
  { heads, layerNormEps }: ContrieverConfig,
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

/**
 * Contriever (Izacard et al. 2022): input_ids, attention_mask i64 [B,L] -> embedding f32 [B,d], the mean of BERT's last
 * states over the unmasked tokens, not normalised: relevance is the dot product. Padding on the right. A checkpoint of
 * sentence-transformers may take the state of the first token instead, and vectors of length 1.
 */
export function contrieverGraph(checkpoint: Checkpoint, config: ContrieverConfig, precision: Precision): Graph {
  const graph = new Graph('contriever')
  const { hiddenSize } = config
  const ids = graph.input('input_ids', 'i64', ['B', 'L'])
  const mask = graph.input('attention_mask', 'i64', ['B', 'L'])
  const params = new Params(graph, checkpoint, precision)
  const keyMask = cast(mask, 'i32')

  const rows = params.in('embeddings', (p) => {
    const table = (name: string): Value => p.in(name, (q) => q.tensor('weight'))
    const positions = slice(table('position_embeddings'), 0, { start: i64s(graph, [0]), end: sizeOf(ids, 1) }, 'L')
    const type = gather(table('token_type_embeddings'), i64(graph, 0))
    const summed = add(add(p.embedding('word_embeddings', ids), positions), type)
    return p.in('LayerNorm', (norm) => layerNormalization(summed, norm.tensor('weight'), norm.tensor('bias'), config.layerNormEps))
  })
  let x = reshape(rows, ['B*L', hiddenSize])
  params.in('encoder', (p) => {
    for (let i = 0; i < config.layers; i++) x = p.in(`layer.${i}`, (layer) => bertLayer(layer, x, { rows, keyMask }, config))
  })
  const states = cast(reshapeLike(x, rows), 'f32')
  const { pooling, normalised } = checkpoint.embedding ?? { pooling: 'mean', normalised: false }
  const pooled = pooling === 'cls' ? graph.scope('cls_pooling', () => firstState(states, hiddenSize)) : meanPooling(states, mask)
  graph.output('embedding', normalised ? graph.scope('normalise', () => ofLengthOne(pooled)) : pooled)
  return graph
}

/** The mean of states [B,L,d] over the unmasked tokens. */
function meanPooling(states: Value, mask: Value): Value {
  const { graph } = states
  return graph.scope('mean_pooling', () => {
    const weights = reshape(cast(mask, 'f32'), ['B', 'L', 1])
    const sum = reduceSum(mul(states, weights), 1)
    return div(sum, max(reduceSum(weights, 1), f32(graph, 1)))
  })
}

/** The state of [CLS], which stands first: [B,L,d] -> [B,d]. */
function firstState(states: Value, hiddenSize: number): Value {
  const { graph } = states
  return reshape(slice(states, 1, { start: i64s(graph, [0]), end: i64s(graph, [1]) }, 1), ['B', hiddenSize])
}

/** Rows [B,d] divided by their lengths. */
function ofLengthOne(rows: Value): Value {
  return div(rows, max(sqrt(reduceSum(mul(rows, rows), 1, true)), f32(rows.graph, SMALLEST_LENGTH)))
}
