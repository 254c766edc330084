import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import type { RerankerConfig } from '../checkpoint/config/config.ts'
import { RERANKER_HEADS } from '../checkpoint/rename.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { Graph } from '../onnx/graph.ts'
import { cast, flatten, tanh } from '../onnx/ops.ts'
import { bertStates, firstState } from './bert.ts'

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
