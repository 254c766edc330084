import { Graph } from '../onnx/graph.ts'
import { cast } from '../onnx/ops.ts'
import { encodeModel } from '../onnx/proto.ts'
import type { Elem } from '../onnx/shapes.ts'

/**
 * A graph that converts the type of numbers: `x` [n] -> `y` [n]. Several times faster than a loop over bits in JavaScript; rounds to
 * nearest even, as base/binary16 does.
 * @returns the bytes of its .onnx file
 */
export function castModel(from: Elem, to: Elem): Uint8Array {
  const graph = new Graph('cast')
  graph.output('y', cast(graph.input('x', from, ['n']), to))
  // There are no weights to locate.
  return encodeModel(graph.toProto(() => ({ file: '', offset: 0, bytes: 0 }), 'cepe'))
}
