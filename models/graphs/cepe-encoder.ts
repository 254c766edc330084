import type { CepeReaderConfig } from '../checkpoint/config/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { encoderSelfAttention } from '../blocks/attention.ts'
import { normStream } from '../blocks/norm.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { ropeOf } from '../blocks/rotations.ts'
import { Graph, type Value } from '../onnx/graph.ts'
import { cast, compress, lessOrEqual, range, reduceSum, reshape, sizeOf } from '../onnx/ops.ts'
import { positionsOf, scoreBias } from './layer-kinds.ts'
import { llamaLayers } from './llama.ts'

/** [1,1,L,L] for ids [n_ctx,L]: hides the tokens after each. */
function causalBias(ids: Value, elem: 'f32' | 'f16'): Value {
  const indices = range(reshape(sizeOf(ids, 1), []), 'L')
  return scoreBias(lessOrEqual(reshape(indices, [1, 1, 1, 'L']), reshape(indices, [1, 1, 'L', 1])), elem)
}

/**
 * CEPE's encoder: input_ids, attention_mask i64 [n_ctx,L] -> phi f32 [m,d_enc], the final states of the unmasked tokens in passage order.
 * Each passage is encoded separately, with positions from its first unmasked token, so padding may be on either side.
 */
export function cepeEncoderGraph(checkpoint: Checkpoint, config: CepeReaderConfig, precision: Precision): Graph {
  const graph = new Graph('cepe_encoder')
  const { encoder } = config
  const ids = graph.input('input_ids', 'i64', ['n_ctx', 'L'])
  const mask = graph.input('attention_mask', 'i64', ['n_ctx', 'L'])
  const params = new Params(graph, checkpoint, precision)
  const rope = ropeOf(graph, encoder, 'encoder', precision.float)

  const rotations = rope.at(positionsOf(mask), () => reduceSum(mask, 1))
  const keyMask = cast(mask, 'i32')
  const bias = config.causalEncoder ? causalBias(ids, precision.float) : null
  const states = params.in('encoder', (p) => {
    const stream = llamaLayers(p, encoder, p.embedding('embed_tokens', ids), {
      attend: (q, x) => encoderSelfAttention({ params: q, x, heads: encoder }, rotations, { keyMask, bias }),
    })
    return normStream(p, stream, 'norm', encoder.rmsNormEps)[0]
  })
  const phi = graph.scope('phi', () =>
    cast(compress(reshape(states, ['n_ctx*L', encoder.hiddenSize]), cast(reshape(mask, ['n_ctx*L']), 'bool'), 'm'), 'f32'),
  )
  graph.output('phi', phi)
  return graph
}
