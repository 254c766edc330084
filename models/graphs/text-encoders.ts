import type { RerankerConfig, RetrieverConfig } from '../checkpoint/config/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { Graph, type Value } from '../onnx/graph.ts'
import { cast, div, f32, flatten, max, mul, reduceSum, reshape, sqrt, tanh } from '../onnx/ops.ts'
import { bertStates, firstState } from './bert.ts'
import { modernBertStates } from './modern-bert.ts'
import { RERANKER_HEADS } from '../checkpoint/rename.ts'

/** As in PyTorch's normalize: a zero vector stays zero. */
const SMALLEST_LENGTH = 1e-12

/**
 * Contriever (Izacard et al. 2022): input_ids, attention_mask i64 [B,L] -> embedding f32 [B,d], the mean of BERT's (or ModernBERT's) last
 * states over the unmasked tokens, not normalised: relevance is the dot product. Padding on the right. A checkpoint of
 * sentence-transformers may use the first token's state instead, and vectors of length 1.
 */
export function contrieverGraph(checkpoint: Checkpoint, config: RetrieverConfig, precision: Precision): Graph {
  const graph = new Graph('contriever')
  const { hiddenSize } = config
  const ids = graph.input('input_ids', 'i64', ['B', 'L'])
  const mask = graph.input('attention_mask', 'i64', ['B', 'L'])
  const params = new Params(graph, checkpoint, precision)
  const input = { ids, mask }
  const states = config.family === 'modern' ? modernBertStates(params, config, input) : bertStates(params, config, input)
  const { pooling, normalised } = checkpoint.embedding ?? { pooling: 'mean', normalised: false }
  const pooled = pooling === 'cls' ? graph.scope('cls_pooling', () => firstState(states, hiddenSize)) : meanPooling(states, mask)
  const lengthOne = (): Value => div(pooled, max(sqrt(reduceSum(mul(pooled, pooled), 1, true)), f32(graph, SMALLEST_LENGTH)))
  graph.output('embedding', normalised ? graph.scope('normalise', lengthOne) : pooled)
  return graph
}

/** The mean of states [B,L,d] over the unmasked tokens. */
function meanPooling(states: Value, mask: Value): Value {
  const { graph } = states
  return graph.scope('mean_pooling', () => {
    const weights = reshape(cast(mask, 'f32'), ['B', 'L', 1])
    return div(reduceSum(mul(states, weights), 1), max(reduceSum(weights, 1), f32(graph, 1)))
  })
}

/**
 * A cross-encoder: input_ids, token_type_ids, attention_mask i64 [B,L], a query and a passage per row -> score f32 [B], the classifier's
 * single logit: dense and tanh over the first token's state, then one output. Padding on the right.
 */
export function rerankerGraph(checkpoint: Checkpoint, config: RerankerConfig, precision: Precision): Graph {
  const graph = new Graph('reranker')
  const ids = graph.input('input_ids', 'i64', ['B', 'L'])
  const types = graph.input('token_type_ids', 'i64', ['B', 'L'])
  const mask = graph.input('attention_mask', 'i64', ['B', 'L'])
  const params = new Params(graph, checkpoint, precision)
  const first = firstState(bertStates(params, config, { ids, types, mask }), config.hiddenSize)
  // The head is small and decides the order of passages: in float, whatever the dtype.
  const head = params.with(null)
  const [inner, score] = RERANKER_HEADS[config.family]
  const pooled = tanh(head.linear(cast(first, precision.float), inner, { bias: true }))
  graph.output('score', flatten(cast(head.linear(pooled, score, { bias: true }), 'f32'), 'B'))
  return graph
}
