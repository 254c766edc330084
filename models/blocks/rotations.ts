import { unsupported } from '../errors.ts'
import { rotaryEmbedding, type Waves } from '../onnx/contrib.ts'
import type { Graph, Value } from '../onnx/graph.ts'
import { add, cast, cos, gather, i64, max, mul, range, reshape, reshapeLike, sin, sizeOf, sub } from '../onnx/ops.ts'
import { dimAt, productOf } from '../onnx/shapes.ts'
import { frequenciesByLength, lengthsOf, rotaryTable, scaledTable, type Rotary } from './rope.ts'
import { computedWeight } from './weight-source.ts'

type Float = 'f32' | 'f16'

/** Rotations of some tokens. */
export interface Rotations {
  readonly queries: Waves
  readonly keys: Waves
  /** Row of the waves for each token, i64 [B,L]. */
  readonly positions: Value
}

/** Rotary embedding of a stack. */
export interface Rope {
  /** Waves by position, equal for queries and keys, in halves, as used by GroupQueryAttention; null otherwise. */
  readonly waves: Waves | null
  /** Rotations at positions i64 [B,L] in texts of so many tokens, i64 [B]; lengths are computed once, and only if the basis needs them. */
  at(positions: Value, textTokens: () => Value): Rotations
}

/** Rotations of the L tokens from `start` i64 [1] to the end of a prompt of length i64 [1]; the waves themselves if an operator can use them. */
export function promptRotations(rope: Rope, start: Value, length: Value): Waves | Rotations {
  return rope.waves ?? rope.at(add(reshape(range(reshape(sub(length, start), []), 'L'), [1, 'L']), start), () => length)
}

/** x [B,L,heads*head_dim], rotated. */
export function rotate(x: Value, side: 'queries' | 'keys', rotations: Rotations, heads: number): Value {
  return rotaryEmbedding(x, rotations.positions, rotations[side], heads)
}

/** Creates the configured rotary embedding; `owner` separates weights of decoder and encoder. @throws unsupported for xPos in f16 */
export function ropeOf(graph: Graph, config: Rotary, owner: string, elem: Float): Rope {
  const { ropeScaling: scaling, window, headDim } = config
  const table = (name: string, compute: () => Float32Array): Value =>
    graph.weight(computedWeight(`${owner}.rotary.${name}`, elem, [window, headDim / 2], compute))
  if (scaling?.type === 'dynamic') return ropeByLength(graph, config, { ...scaling, owner, elem })
  if (scaling?.type === 'xpos') {
    if (elem === 'f16') throw unsupported('xPos is computed in f32: build with dtype f32, int8, int8+int4 or int4', 'rope')
    const waves = (side: string, sign: 1 | -1): Waves => ({
      cos: table(`${side}.cos`, () => scaledTable(config, scaling, Math.cos, sign)),
      sin: table(`${side}.sin`, () => scaledTable(config, scaling, Math.sin, sign)),
      interleaved: scaling.interleaved,
    })
    const [queries, keys] = [waves('queries', -1), waves('keys', 1)]
    return { waves: null, at: (positions) => ({ queries, keys, positions }) }
  }
  const waves = { cos: table('cos', () => rotaryTable(config, Math.cos)), sin: table('sin', () => rotaryTable(config, Math.sin)) }
  return { waves, at: (positions) => ({ queries: waves, keys: waves, positions }) }
}

/** A basis per text length: waves are computed in the graph, one row per token. */
function ropeByLength(
  graph: Graph,
  config: Rotary,
  dynamic: Parameters<typeof frequenciesByLength>[1] & { readonly owner: string; readonly elem: Float },
): Rope {
  const { originalWindow, owner, elem } = dynamic
  const half = config.headDim / 2
  const frequencies = graph.weight(
    computedWeight(`${owner}.rotary.frequencies`, 'f32', [lengthsOf(config, originalWindow), half], () =>
      frequenciesByLength(config, dynamic),
    ),
  )
  const at: Rope['at'] = (positions, textTokens) =>
    graph.scope('rotary', () => {
      const [batch, length] = [dimAt(positions.shape, 0), dimAt(positions.shape, 1)]
      const beyond = max(sub(textTokens(), i64(graph, originalWindow)), i64(graph, 0))
      const ofText = reshape(gather(frequencies, beyond), [batch, 1, half])
      const angles = mul(reshape(cast(positions, 'f32'), [batch, length, 1]), ofText)
      const rows = productOf([batch, length])
      const table = reshape(angles, [rows, half])
      const waves = { cos: cast(cos(table), elem), sin: cast(sin(table), elem) }
      const rowIndices = reshapeLike(range(reshape(sizeOf(table, 0), []), rows), positions)
      return { queries: waves, keys: waves, positions: rowIndices }
    })
  return { waves: null, at }
}
