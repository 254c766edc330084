import { at } from '../../base/at.ts'

/** Element types of the graphs, by short name. */
export type Elem = 'f32' | 'f16' | 'i64' | 'i32' | 'i8' | 'u8' | 'bool'

/** `code`: TensorProto.DataType of onnx.proto. */
export const ELEMS: Readonly<Record<Elem, { readonly code: number; readonly bytes: number }>> = {
  f32: { code: 1, bytes: 4 },
  u8: { code: 2, bytes: 1 },
  i8: { code: 3, bytes: 1 },
  i32: { code: 6, bytes: 4 },
  i64: { code: 7, bytes: 8 },
  bool: { code: 9, bytes: 1 },
  f16: { code: 10, bytes: 2 },
}

/** Opset of the default domain and version of com.microsoft that every built graph declares. */
export const OPSET = 21
export const CONTRIB_OPSET = 1
export const CONTRIB_DOMAIN = 'com.microsoft'

/** A static size, or the name of a dynamic one; equal names are equal sizes. */
export type Dim = number | string
export type Shape = readonly Dim[]

/** A bug in the graph code, not in a checkpoint: shapes or types do not match. */
export class GraphError extends Error {
  constructor(message: string) {
    super(`${message}. This is a bug in the graph code`)
    this.name = 'GraphError'
  }
}

export function formatShape(shape: Shape): string {
  return `[${shape.join(',')}]`
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i])
}

/** Element count of a fixed shape. Errors: GraphError for a named dimension. */
export function fixedSize(shape: Shape): number {
  return shape.reduce<number>((product, dim) => {
    if (typeof dim === 'string') throw new GraphError(`shape ${formatShape(shape)} is not fixed`)
    return product * dim
  }, 1)
}

function broadcastDim(a: Dim, b: Dim, what: string): Dim {
  if (a === b || b === 1) return a
  if (a === 1) return b
  throw new GraphError(`${what}: sizes ${a} and ${b} do not broadcast`)
}

/** The product of sizes, of which some may be dynamic: `8*L`. */
export function productOf(sizes: Shape): Dim {
  const named = sizes.filter((size) => typeof size === 'string')
  const fixed = sizes.reduce<number>((all, size) => (typeof size === 'number' ? all * size : all), 1)
  return named.length === 0 ? fixed : [...(fixed === 1 ? [] : [fixed]), ...named].join('*')
}

/** Numpy broadcasting, aligned at the last dimension. */
export function broadcast(a: Shape, b: Shape, what: string): Shape {
  const aligned = (shape: Shape, rank: number): Shape => [...new Array<Dim>(Math.max(0, rank - shape.length)).fill(1), ...shape]
  const other = aligned(b, a.length)
  return aligned(a, b.length).map((dim, i) => broadcastDim(dim, at(other, i), what))
}

/** Dimension at an axis, negative counted from the end. */
export function dimAt(shape: Shape, axis: number): Dim {
  const dim = shape.at(axis)
  if (dim === undefined || axis >= shape.length) throw new GraphError(`shape ${formatShape(shape)} has no axis ${axis}`)
  return dim
}

/** The last dimension. @throws GraphError if it is dynamic */
export function widthOf({ shape }: { readonly shape: Shape }): number {
  return fixedSize([dimAt(shape, -1)])
}

export function withDim(shape: Shape, axis: number, dim: Dim): Shape {
  const at = axis < 0 ? axis + shape.length : axis
  return shape.map((old, i) => (i === at ? dim : old))
}
