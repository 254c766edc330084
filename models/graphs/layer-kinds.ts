import type { LlamaConfig, LocalLayers } from '../checkpoint/config/config.ts'
import { ropeOf, type Rope } from '../blocks/rotations.ts'
import type { Graph, Value } from '../onnx/graph.ts'
import { add, cast, cumSum, f32, i64, less, max, range, reshape, sizeOf, sub, where } from '../onnx/ops.ts'
import { type Dim, dimAt } from '../onnx/shapes.ts'

/** A value for global layers and one for local layers. */
export interface ByLayer<T> {
  of(layer: number): T
  map<U>(change: (value: T) => U): ByLayer<U>
}

/** Score bias of hidden keys: low enough that softmax gives 0, finite so that a row of padding stays finite; fits f16. */
const HIDDEN = -30_000

function ofKinds<T>(all: T, windowed: T, local: LocalLayers | null): ByLayer<T> {
  return {
    of: (layer) => (local?.layers[layer] === true ? windowed : all),
    map: (change) => {
      const changed = change(all)
      return ofKinds(changed, windowed === all ? changed : change(windowed), local)
    },
  }
}

/** Computes both values at once. */
export function byLayer<T>({ local }: { readonly local: LocalLayers | null }, make: (local: LocalLayers | null) => T): ByLayer<T> {
  const all = make(null)
  return ofKinds(all, local === null ? all : make(local), local)
}

/** The rotary embedding of each layer of the decoder. @throws those of ropeOf */
export function decoderRopes(graph: Graph, decoder: LlamaConfig, elem: 'f32' | 'f16'): ByLayer<Rope> {
  const all = ropeOf(graph, decoder, 'decoder', elem)
  return byLayer(decoder, (local) =>
    local === null || (local.ropeTheta === decoder.ropeTheta && decoder.ropeScaling === null)
      ? all
      : ropeOf(graph, { ...decoder, ropeTheta: local.ropeTheta, ropeScaling: null }, 'decoder.local', elem),
  )
}

/** Position of each token in its row: the number of unmasked ones before it; mask i64 [B,L]. */
export function positionsOf(mask: Value): Value {
  const { graph } = mask
  return max(sub(cumSum(mask), i64(graph, 1)), i64(graph, 0))
}

/** Bias of scores: 0 where the condition holds, else low enough that softmax gives 0. */
export function scoreBias(visible: Value, elem: 'f32' | 'f16'): Value {
  const { graph } = visible
  return where(visible, cast(f32(graph, 0), elem), cast(f32(graph, HIDDEN), elem))
}

/** For one token at `position` i64 [1,1]: score biases of the prompt's keys [1,kv_heads,1,T,head_dim], and of generated ones and itself. */
export function windowBiases(
  position: Value,
  prompt: Value,
  { window, elem, made }: { readonly window: number; readonly elem: 'f32' | 'f16'; readonly made: string },
): { readonly prompt: Value; readonly since: Value } {
  const { graph } = position
  const [length, promptDim] = [sizeOf(prompt, 3), dimAt(prompt.shape, 3)]
  const before = sub(reshape(position, [1]), i64(graph, window))
  const biasOf = (keyPositions: Value, dim: Dim): Value => reshape(scoreBias(less(before, keyPositions), elem), [1, 1, 1, 1, dim])
  const since = add(sub(reshape(position, [1]), length), i64(graph, 1))
  return {
    prompt: biasOf(range(reshape(length, []), promptDim), promptDim),
    since: biasOf(add(range(reshape(since, []), made), length), made),
  }
}

/** Whether tokens at positions i64 [B,L] see keys at keyPositions [B,T] within the window: bool [B,1,1,L,T]. */
export function nearBy(positions: Value, keyPositions: Value, window: number): Value {
  const [[batch = 0, length = 0], [, total = 0]] = [positions.shape, keyPositions.shape]
  const before = sub(reshape(positions, [batch, 1, 1, length, 1]), i64(positions.graph, window))
  return less(before, reshape(keyPositions, [batch, 1, 1, 1, total]))
}
