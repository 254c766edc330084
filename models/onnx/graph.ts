import { at, keptOrMade, present } from '../../base/at.ts'
import { ATTRIBUTE, EXTERNAL, type Proto } from './proto.ts'
import { CONTRIB_DOMAIN, CONTRIB_OPSET, ELEMS, fixedSize, formatShape, GraphError, OPSET, type Elem, type Shape } from './shapes.ts'

/**
 * Bytes of the model that are read when they are written, so that a graph can be built without loading them. Weights with equal `key` have
 * equal bytes, whatever their names and shapes: they are stored once.
 */
export interface Weight {
  readonly name: string
  readonly key: string
  readonly elem: Elem
  readonly shape: readonly number[]
  /** Little-endian, row-major. */
  read(): Promise<Uint8Array>
  /** Set if the bytes are stored in a file and may be referenced there. */
  readonly inFile?: { readonly path: string; readonly offset: number }
}

/** Location of a weight's bytes: a file next to the .onnx file. */
export interface WeightLocation {
  readonly file: string
  readonly offset: number
  readonly bytes: number
}

export interface TypeOf {
  readonly elem: Elem
  readonly shape: Shape
}

/** One tensor of a graph, created by its inputs, constants, weights and operators. */
export interface Value extends TypeOf {
  readonly graph: Graph
}

type Attribute = number | string | readonly number[] | { readonly float: number } | { readonly subgraph: Body }
export type Attributes = Readonly<Record<string, Attribute | undefined>>

/** An operator's name, and the domain that defines it; '' is ONNX's own. */
export interface Operator {
  readonly op: string
  readonly domain: string
}

interface Node extends Operator {
  readonly name: string
  readonly inputs: readonly (Value | null)[]
  readonly outputs: readonly (Value | null)[]
  readonly attributes: Attributes
}

/** Nodes of the main graph, or of one branch or loop body. */
export interface Body {
  readonly name: string
  readonly inputs: Value[]
  readonly outputs: Value[]
  readonly nodes: Node[]
}

const IR_VERSION = 10

/**
 * An ONNX model under construction. Operators (ops.ts, contrib.ts) are functions from values to values that append to the current body;
 * shapes and types are checked on the call, so that an error points at its line. Node names are paths: the enclosing scopes, then the
 * operator.
 */
export class Graph {
  readonly #bodies: Body[]
  readonly #path: string[] = []
  readonly #names = new Map<Value, string>()
  readonly #taken = new Set<string>()
  readonly #weights = new Map<string, { value: Value; weight: Weight }>()
  readonly #constants = new Map<string, { value: Value; bytes: Uint8Array }>()

  constructor(readonly name: string) {
    this.#bodies = [{ name, inputs: [], outputs: [], nodes: [] }]
  }

  /** Runs `write`, with the names of appended nodes below `name`. */
  scope<T>(name: string, write: () => T): T {
    this.#path.push(name)
    try {
      return write()
    } finally {
      this.#path.pop()
    }
  }

  input(name: string, elem: Elem, shape: Shape): Value {
    const value = this.#value(name, elem, shape)
    this.#current().inputs.push(value)
    return value
  }

  /** Publishes a node's output under a name. @throws GraphError if the value already has a public name */
  output(name: string, value: Value): void {
    const body = this.#current()
    if (!body.nodes.some((node) => node.outputs.includes(value)) || body.outputs.includes(value))
      throw new GraphError(`output ${name} must be the result of exactly one node`)
    this.#names.set(value, this.#claim(name))
    body.outputs.push(value)
  }

  /** A constant stored inside the .onnx file; equal ones are stored once. */
  constant(elem: Elem, shape: readonly number[], bytes: Uint8Array): Value {
    if (fixedSize(shape) * ELEMS[elem].bytes !== bytes.length)
      throw new GraphError(`constant ${formatShape(shape)} has ${bytes.length} bytes`)
    const key = `${elem}${formatShape(shape)}${Buffer.from(bytes).toString('base64')}`
    return keptOrMade(this.#constants, key, () => ({ value: this.#value(`/constants/${this.#constants.size}`, elem, shape), bytes })).value
  }

  /** A weight, visible in every body; equal names are the same value. */
  weight(weight: Weight): Value {
    return keptOrMade(this.#weights, weight.name, () => ({ value: this.#value(weight.name, weight.elem, weight.shape), weight })).value
  }

  /** Appends one operator to the current body. Nulls are omitted optional inputs and outputs; returns the present outputs. */
  add(
    { op, domain }: Operator,
    inputs: readonly (Value | null)[],
    outputs: readonly (TypeOf | null)[],
    attributes: Attributes = {},
  ): readonly Value[] {
    for (const input of inputs) if (input && input.graph !== this) throw new GraphError(`${op}: an input belongs to another graph`)
    const name = this.#claim(this.#at(op))
    const values = outputs.map((type, i) => type && this.#value(`${name}/output_${i}`, type.elem, type.shape))
    this.#current().nodes.push({ name, op, domain, inputs, outputs: values, attributes })
    return values.filter((value) => value !== null)
  }

  /** Writes a branch or loop body, which may use values of enclosing bodies. `write` returns its outputs. */
  subgraph(name: string, inputs: readonly { name: string; type: TypeOf }[], write: (inputs: readonly Value[]) => readonly Value[]): Body {
    const body: Body = { name: this.#at(name), inputs: [], outputs: [], nodes: [] }
    this.#bodies.push(body)
    try {
      return this.scope(name, () => {
        const given = inputs.map(({ name: input, type }) => this.input(this.#at(input), type.elem, type.shape))
        body.outputs.push(...write(given).map((value) => this.#own(body, value)))
        return body
      })
    } finally {
      this.#bodies.pop()
    }
  }

  weights(): readonly Weight[] {
    return [...this.#weights.values()].map(({ weight }) => weight)
  }

  /** The model as protobuf message; `locationOf` returns the location of each weight's bytes. */
  toProto(locationOf: (weight: Weight) => WeightLocation, producerVersion: string): Proto<'ModelProto'> {
    const [main] = this.#bodies
    if (!main || main.outputs.length === 0) throw new GraphError(`graph ${this.name} has no outputs`)
    const graph = this.#bodyProto(main)
    graph.initializer.push(
      ...[...this.#constants.values()].map(({ value, bytes }) => ({ ...this.#tensorProto(value), raw_data: bytes })),
      ...[...this.#weights.values()].map(({ value, weight }) => this.#externalProto(value, locationOf(weight))),
    )
    return {
      ir_version: IR_VERSION,
      producer_name: 'cepe-qa',
      producer_version: producerVersion,
      graph,
      opset_import: [
        { domain: '', version: OPSET },
        { domain: CONTRIB_DOMAIN, version: CONTRIB_OPSET },
      ],
    }
  }

  /** A body's outputs must be created in it: others pass through an Identity. */
  #own(body: Body, value: Value): Value {
    if (body.nodes.some((node) => node.outputs.includes(value)) && !body.outputs.includes(value)) return value
    return at(this.add({ op: 'Identity', domain: '' }, [value], [value]), 0)
  }

  #current(): Body {
    return present(this.#bodies.at(-1))
  }

  #at(name: string): string {
    return `/${[...this.#path, name].join('/')}`
  }

  #claim(name: string): string {
    let unique = name
    for (let i = 1; this.#taken.has(unique); i++) unique = `${name}_${i}`
    this.#taken.add(unique)
    return unique
  }

  #value(name: string, elem: Elem, shape: Shape): Value {
    const value: Value = { graph: this, elem, shape }
    this.#names.set(value, this.#claim(name))
    return value
  }

  #nameOf(value: Value): string {
    return present(this.#names.get(value))
  }

  #bodyProto(body: Body): Proto<'GraphProto'> {
    return {
      name: body.name,
      node: body.nodes.map((node) => this.#nodeProto(node)),
      initializer: [],
      input: body.inputs.map((value) => this.#infoProto(value)),
      output: body.outputs.map((value) => this.#infoProto(value)),
    }
  }

  #nodeProto(node: Node): Proto<'NodeProto'> {
    return {
      input: node.inputs.map((value) => (value ? this.#nameOf(value) : '')),
      output: node.outputs.map((value) => (value ? this.#nameOf(value) : '')),
      name: node.name,
      op_type: node.op,
      domain: node.domain,
      attribute: Object.entries(node.attributes).flatMap(([name, value]) =>
        value === undefined ? [] : [this.#attributeProto(name, value)],
      ),
    }
  }

  #attributeProto(name: string, value: Attribute): Proto<'AttributeProto'> {
    if (typeof value === 'number') return { name, type: ATTRIBUTE.int, i: value }
    if (typeof value === 'string') return { name, type: ATTRIBUTE.string, s: new TextEncoder().encode(value) }
    if ('float' in value) return { name, type: ATTRIBUTE.float, f: value.float }
    if ('subgraph' in value) return { name, type: ATTRIBUTE.graph, g: this.#bodyProto(value.subgraph) }
    return { name, type: ATTRIBUTE.ints, ints: [...value] }
  }

  #infoProto(value: Value): Proto<'ValueInfoProto'> {
    const dim = value.shape.map((size) => (typeof size === 'number' ? { dim_value: size } : { dim_param: size }))
    return { name: this.#nameOf(value), type: { tensor_type: { elem_type: ELEMS[value.elem].code, shape: { dim } } } }
  }

  #tensorProto(value: Value): Proto<'TensorProto'> {
    return { name: this.#nameOf(value), data_type: ELEMS[value.elem].code, dims: value.shape.map((dim) => fixedSize([dim])) }
  }

  #externalProto(value: Value, location: WeightLocation): Proto<'TensorProto'> {
    const entry = (key: string, of: string | number) => ({ key, value: String(of) })
    const external_data = [entry('location', location.file), entry('offset', location.offset), entry('length', location.bytes)]
    return { ...this.#tensorProto(value), data_location: EXTERNAL, external_data }
  }
}
