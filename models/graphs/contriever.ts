import type { RetrieverConfig } from '../checkpoint/config/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { Graph, type Value } from '../onnx/graph.ts'
import { cast, div, f32, max, mul, reduceSum, reshape, sqrt } from '../onnx/ops.ts'
import { bertStates, firstState } from './bert.ts'
import { modernBertStates } from './modern-bert.ts'

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

/** Rows [B,d] normalised to length 1. */
function ofLengthOne(rows: Value): Value {
  return div(rows, max(sqrt(reduceSum(mul(rows, rows), 1, true)), f32(rows.graph, SMALLEST_LENGTH)))
}
