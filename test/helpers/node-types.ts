import type { Proto } from '../../models/onnx/proto.ts'
import { ELEMS, type Elem } from '../../models/onnx/shapes.ts'

const NAMES = new Map(Object.entries(ELEMS).map(([name, { code }]) => [code, name as Elem]))
/** Operators whose first output has a type of its own, or that of another input than the first. */
const FIXED: Readonly<Record<string, Elem>> = { Shape: 'i64', ArgMax: 'i64', LessOrEqual: 'bool', Less: 'bool', Equal: 'bool' }
const FROM_INPUT: Readonly<Record<string, number>> = { Where: 1, QuantizeLinear: 2, MatMulIntegerToFloat: 2 }

/** Every node of a model, those of branches and loops included, with its inputs' types: `MatMul(f16,f16)`. */
export function signatures({ graph }: Proto<'ModelProto'>): Map<string, string> {
  const types = new Map<string, Elem | undefined>()
  const found = new Map<string, string>()
  for (const { name, data_type: code } of graph.initializer) types.set(name, NAMES.get(code))
  const visit = (body: Proto<'GraphProto'>): void => {
    for (const { name, type } of body.input) types.set(name, NAMES.get(type.tensor_type.elem_type))
    for (const node of body.node) {
      const bodies = node.attribute.flatMap(({ g }) => (g && g.node.length > 0 ? [g] : []))
      for (const one of bodies) visit(one)
      const inputs = node.input.map((name) => types.get(name) ?? '-').join()
      // Those with bodies take any types.
      found.set(node.name, bodies.length > 0 ? node.op_type : `${node.op_type}(${inputs})`)
      for (const [i, name] of node.output.entries()) types.set(name, outputType(node, i, types))
    }
  }
  visit(graph)
  return found
}

function outputType(node: Proto<'NodeProto'>, index: number, types: ReadonlyMap<string, Elem | undefined>): Elem | undefined {
  const { op_type: op, input, attribute } = node
  const inputType = (i: number): Elem | undefined => types.get(input[i] ?? '')
  const body = attribute.find(({ g }) => g !== undefined && g !== null && g.node.length > 0)?.g
  // A loop's body has the condition in front of its outputs.
  if (body) return types.get(body.output[op === 'Loop' ? index + 1 : index]?.name ?? '')
  if (op === 'Cast') return NAMES.get(attribute.find(({ name }) => name === 'to')?.i ?? 0)
  // Mean and inverse deviation.
  if (op === 'SkipSimplifiedLayerNormalization' && (index === 1 || index === 2)) return 'f32'
  return FIXED[op] ?? inputType(FROM_INPUT[op] ?? 0)
}
