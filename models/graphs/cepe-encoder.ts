import type { CepeReaderConfig } from '../checkpoint/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { encoderSelfAttention } from '../blocks/attention.ts'
import { normStream } from '../blocks/norm.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { ropeOf } from '../blocks/rotations.ts'
import { Graph } from '../onnx/graph.ts'
import { cast, compress, cumSum, i64, max, reduceSum, reshape, sub } from '../onnx/ops.ts'
import { llamaLayers } from './llama.ts'

/**
 * CEPE's encoder: input_ids, attention_mask i64 [n_ctx,L] -> phi f32 [m,d_enc], the final states of the unmasked tokens
 * in passage order. Every passage is encoded alone, its positions counted from its first unmasked token, so padding may
 * be on either side.
 */
export function cepeEncoderGraph(checkpoint: Checkpoint, config: CepeReaderConfig, precision: Precision): Graph {
  const graph = new Graph('cepe_encoder')
  const { encoder } = config
  const ids = graph.input('input_ids', 'i64', ['n_ctx', 'L'])
  const mask = graph.input('attention_mask', 'i64', ['n_ctx', 'L'])
  const params = new Params(graph, checkpoint, precision)
  const rope = ropeOf(graph, encoder, 'encoder', precision.float)

  const positions = max(sub(cumSum(mask), i64(graph, 1)), i64(graph, 0))
  const rotations = rope.at(positions, () => reduceSum(mask, 1))
  const keyMask = cast(mask, 'i32')
  const states = params.in('encoder', (p) => {
    const embedded = p.embedding('embed_tokens', ids)
    const stream = llamaLayers(p, encoder, embedded, {
      attend: (q, x) => encoderSelfAttention({ params: q, x, heads: encoder }, rotations, keyMask),
    })
    return normStream(p, stream, 'norm', encoder.rmsNormEps)[0]
  })
  const phi = graph.scope('phi', () =>
    cast(compress(reshape(states, ['n_ctx*L', encoder.hiddenSize]), cast(reshape(mask, ['n_ctx*L']), 'bool'), 'm'), 'f32'),
  )
  graph.output('phi', phi)
  return graph
}
