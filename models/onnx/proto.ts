import protobuf from 'protobufjs'

/**
 * The subset of onnx.proto (proto2) that the builder writes and the inspector reads: of each field its number and type, `many` for a list,
 * `maybe` where it may be absent.
 */
const MESSAGES = {
  StringStringEntryProto: { key: [1, 'string'], value: [2, 'string'] },
  TensorProto: {
    dims: [1, 'int64', 'many'],
    data_type: [2, 'int32'],
    name: [8, 'string'],
    raw_data: [9, 'bytes', 'maybe'],
    external_data: [13, 'StringStringEntryProto', 'many', 'maybe'],
    data_location: [14, 'int32', 'maybe'],
  },
  Dimension: { dim_value: [1, 'int64', 'maybe'], dim_param: [2, 'string', 'maybe'] },
  TensorShapeProto: { dim: [1, 'Dimension', 'many'] },
  TensorType: { elem_type: [1, 'int32'], shape: [2, 'TensorShapeProto'] },
  TypeProto: { tensor_type: [1, 'TensorType'] },
  ValueInfoProto: { name: [1, 'string'], type: [2, 'TypeProto'] },
  AttributeProto: {
    name: [1, 'string'],
    f: [2, 'float', 'maybe'],
    i: [3, 'int64', 'maybe'],
    s: [4, 'bytes', 'maybe'],
    g: [6, 'GraphProto', 'maybe'],
    ints: [8, 'int64', 'many', 'maybe'],
    type: [20, 'int32'],
  },
  NodeProto: {
    input: [1, 'string', 'many'],
    output: [2, 'string', 'many'],
    name: [3, 'string'],
    op_type: [4, 'string'],
    attribute: [5, 'AttributeProto', 'many'],
    domain: [7, 'string'],
  },
  GraphProto: {
    node: [1, 'NodeProto', 'many'],
    name: [2, 'string'],
    initializer: [5, 'TensorProto', 'many'],
    input: [11, 'ValueInfoProto', 'many'],
    output: [12, 'ValueInfoProto', 'many'],
  },
  OperatorSetIdProto: { domain: [1, 'string'], version: [2, 'int64'] },
  ModelProto: {
    ir_version: [1, 'int64'],
    producer_name: [2, 'string'],
    producer_version: [3, 'string'],
    graph: [7, 'GraphProto'],
    opset_import: [8, 'OperatorSetIdProto', 'many'],
  },
} as const

type Messages = typeof MESSAGES
type Scalars = { string: string; int64: number; int32: number; float: number; bytes: Uint8Array }
type One<Type> = Type extends keyof Scalars ? Scalars[Type] : Type extends keyof Messages ? Proto<Type> : never
type Value<Field> = Field extends readonly [number, infer Type, 'many', ...unknown[]]
  ? One<Type>[]
  : Field extends readonly [number, infer Type, ...unknown[]]
    ? One<Type>
    : never
type Maybe<Field> = Field extends readonly [...unknown[], 'maybe'] ? true : false

/** A message by its name in onnx.proto. */
export type Proto<Name extends keyof Messages> = {
  -readonly [Field in keyof Messages[Name] as Maybe<Messages[Name][Field]> extends true ? never : Field]: Value<Messages[Name][Field]>
} & {
  -readonly [Field in keyof Messages[Name] as Maybe<Messages[Name][Field]> extends true ? Field : never]?: Value<Messages[Name][Field]>
}

/** AttributeProto.AttributeType. */
export const ATTRIBUTE = { float: 1, int: 2, string: 3, graph: 5, ints: 7 } as const
/** TensorProto.DataLocation. */
export const EXTERNAL = 1

const nested: Record<string, protobuf.IType> = {}
for (const [message, fields] of Object.entries(MESSAGES)) {
  const described: protobuf.IType['fields'] = {}
  for (const [name, [id, type, ...rules]] of Object.entries<readonly [number, string, ...string[]]>(fields))
    described[name] = { id, type, ...(rules.includes('many') && { rule: 'repeated' }) }
  nested[message] = { edition: 'proto2', fields: described }
}
const modelType = protobuf.Root.fromJSON({ nested }).lookupType('ModelProto')

/** Serialises to .onnx bytes, without weights in external files. */
export function encodeModel(model: Proto<'ModelProto'>): Uint8Array {
  return modelType.encode(modelType.fromObject(model)).finish()
}

/** Parses .onnx bytes; unknown fields are skipped, absent ones get their defaults. @throws protobufjs' errors for invalid bytes */
export function decodeModel(bytes: Uint8Array): Proto<'ModelProto'> {
  return modelType.toObject(modelType.decode(bytes), { longs: Number, defaults: true, arrays: true }) as Proto<'ModelProto'>
}
