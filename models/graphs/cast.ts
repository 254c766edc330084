import { Graph } from '../onnx/graph.ts'
import { cast } from '../onnx/ops.ts'
import { encodeModel } from '../onnx/proto.ts'
import type { Elem } from '../onnx/shapes.ts'

/**
 * A graph that changes the type of numbers: `x` [n] -> `y` [n]. The runtime does that several times faster than a loop over
 * their bits can, and rounds to nearest even as base/binary16 does.
 * @returns the bytes of its .onnx file
 */
export function castModel(from: Elem, to: Elem): Uint8Array {
  const graph = new Graph('cast')
  graph.output('y', cast(graph.input('x', from, ['n']), to))
  // Without weights, none has a place to be asked for.
  return encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'cepe'))
}
