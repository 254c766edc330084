import { at } from '../../base/at.ts'
import type { CepeConfig, LlamaConfig } from '../checkpoint/config/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { cachedSelfAttention } from '../blocks/attention.ts'
import { stepCrossAttention } from '../blocks/cross-attention.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { Graph, type Value } from '../onnx/graph.ts'
import { and, cast, lessOrEqual, range, reshape, sizeOf, slice, sub } from '../onnx/ops.ts'
import { decoderPass, keyValueInputs, keyValueOutputs, logitsOf, phiInput } from './decoder.ts'
import { byLayer, decoderRopes, nearBy, positionsOf, scoreBias, type ByLayer } from './layer-kinds.ts'

const TOTAL = 'past+L'
const TEXT_TOKENS = 'text_tokens'

/**
 * Positions i64 [B,L] of the new tokens, and the score bias [B,1,1,L,T] in each layer. A token sees unmasked tokens up to its own index;
 * its position is the number of unmasked ones before it. Padding may be anywhere: left, right or between the cached part and the new
 * tokens.
 */
function maskInputs(mask: Value, ids: Value, decoder: LlamaConfig, elem: 'f32' | 'f16'): { positions: Value; biases: ByLayer<Value> } {
  const total = sizeOf(mask, 1)
  const past = sub(total, sizeOf(ids, 1))
  const keyPositions = positionsOf(mask)
  const positions = slice(keyPositions, 1, { start: past, end: total }, 'L')
  const indices = range(reshape(total, []), TOTAL)
  const causal = lessOrEqual(reshape(indices, [1, TOTAL]), reshape(slice(indices, 0, { start: past, end: total }, 'L'), ['L', 1]))
  const visible = and(causal, reshape(cast(mask, 'bool'), ['B', 1, 1, 1, TOTAL]))
  const biases = byLayer(decoder, (local) => scoreBias(local ? and(visible, nearBy(positions, keyPositions, local.window)) : visible, elem))
  return { positions, biases }
}

/**
 * The decoder over new tokens and a cache, for logits: input_ids i64 [B,L], attention_mask i64 [B,past+L] (0 = padding, anywhere), phi f32
 * [m,d_enc] shared by the rows, past_key_values.{i}.key|value [B,kv_heads,past,head_dim] -> logits f32 [B,L,V], present.{i}.key|value
 * [B,kv_heads,past+L,head_dim]. past and m may be 0. Logits at masked tokens are undefined; keys and values have the precision's type.
 *
 * If the rotary basis depends on the text's length, there is another input, text_tokens i64 [B]: the length of each row's text, as far as
 * known. Cached keys keep the basis they were computed with.
 */
export function cepeStepGraph(checkpoint: Checkpoint, config: CepeConfig, precision: Precision): Graph {
  const graph = new Graph('cepe_step')
  const { decoder } = config
  const ids = graph.input('input_ids', 'i64', ['B', 'L'])
  const mask = graph.input('attention_mask', 'i64', ['B', TOTAL])
  const context = phiInput(graph, config, precision)
  const past = keyValueInputs(graph, 'past_key_values', config, { elem: precision.float, batch: 'B', length: 'past' })
  const params = new Params(graph, checkpoint, precision)
  const ropes = decoderRopes(graph, decoder, precision.float)
  const { positions, biases } = graph.scope('mask', () => maskInputs(mask, ids, decoder, precision.float))
  const rotations = ropes.map((rope) => rope.at(positions, () => graph.input(TEXT_TOKENS, 'i64', ['B'])))

  const { stream, keyValues } = decoderPass(
    params,
    config,
    { ids, context },
    {
      self: (p, x, i) =>
        cachedSelfAttention({ params: p, x, heads: decoder }, rotations.of(i), { past: at(past, i), bias: biases.of(i), total: TOTAL }),
      cross: (p, x) => stepCrossAttention({ params: p, x, context, heads: decoder }),
    },
  )
  graph.output('logits', logitsOf(params, config, stream))
  keyValueOutputs(graph, 'present', keyValues)
  return graph
}
