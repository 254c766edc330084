import { f32ToF16 } from '../../base/binary16.ts'
import type { Checkpoint, TensorInfo } from '../checkpoint/checkpoint.ts'
import { readF32 } from '../checkpoint/weights.ts'
import { blockCount, packedBytes, quantize, quantizeOutputs, type QuantizeOptions } from './quantize.ts'
import { unsupported } from '../errors.ts'
import type { Weight } from '../onnx/graph.ts'

function bytesOf(values: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/** Half-precision bits. @throws unsupported naming the tensor if a weight does not fit */
function toHalf(name: string, values: Float32Array): Uint16Array {
  const halves = f32ToF16(values)
  if (halves.some((bits) => (bits & 0x7fff) === 0x7c00))
    throw unsupported(`tensor ${name} exceeds the f16 range; build with dtype f32 or int4`, name)
  return halves
}

/** A checkpoint tensor as f32 or f16 weight; can be referenced in place if stored in that type. */
export function floatWeight(checkpoint: Checkpoint, info: TensorInfo, elem: 'f32' | 'f16'): Weight {
  const { name, shape, dtype, converted = false } = info
  const asStored = dtype === elem.toUpperCase()
  return {
    name,
    key: `${name}:${elem}`,
    elem,
    shape: [...shape],
    read: async () => {
      if (asStored) return (await checkpoint.read(name)).data
      const values = await readF32(checkpoint, name)
      return bytesOf(elem === 'f32' ? values : toHalf(name, values))
    },
    ...(asStored && !converted && { inFile: { path: info.file, offset: info.offset } }),
  }
}

/** A weight computed from the configuration alone. */
export function computedWeight(name: string, elem: 'f32' | 'f16', shape: readonly number[], compute: () => Float32Array): Weight {
  return {
    name,
    key: `${name}:${elem}`,
    elem,
    shape,
    read: () => Promise.resolve(bytesOf(elem === 'f32' ? compute() : toHalf(name, compute()))),
  }
}

/** Right side of an 8-bit product with its scales (int8.ts), by how the checkpoint's matrix [rows,columns] is used. */
export type Int8Use =
  /** x [...,columns] -> [...,rows] */
  | { readonly kind: 'whole' }
  /** A head's rows are its outputs: x [heads,N,columns] -> [heads,N,rows/heads]. */
  | { readonly kind: 'heads'; readonly heads: number }
  /** A head's rows are its inputs: x [heads,N,rows/heads] -> [heads,N,columns]. */
  | { readonly kind: 'heads-in'; readonly heads: number }

/** Parts of a quantised matrix as weights. They are computed together at the first read, and released after the last. */
function quantisedParts<Part extends string>(
  { name, key }: Pick<Weight, 'name' | 'key'>,
  types: Readonly<Record<Part, Pick<Weight, 'elem' | 'shape'>>>,
  compute: () => Promise<Readonly<Record<Part, Uint8Array>>>,
): Readonly<Record<Part, Weight>> {
  const names = Object.keys(types) as Part[]
  const unread = new Set(names)
  let computed: ReturnType<typeof compute> | undefined
  const read = async (part: Part): Promise<Uint8Array> => {
    computed ??= compute()
    const bytes = (await computed)[part]
    unread.delete(part)
    if (unread.size === 0) computed = undefined
    return bytes
  }
  const weightOf = (part: Part): Weight => ({ ...types[part], name: `${name}.${part}`, key: `${key}:${part}`, read: () => read(part) })
  return Object.fromEntries(names.map((part) => [part, weightOf(part)])) as Record<Part, Weight>
}

/** A matrix in 8 bits: values, and one scale per output. */
export function int8Weights(checkpoint: Checkpoint, { name, shape }: TensorInfo, use: Int8Use) {
  const [rows = 0, columns = 0] = shape
  const whole = use.kind === 'whole'
  const heads = whole ? 1 : use.heads
  const transposed = use.kind === 'heads-in'
  const [ins, outs] = transposed ? [rows / heads, columns] : [columns, rows / heads]
  const form = whole ? 'int8' : `int8.${use.kind}${heads}`
  return quantisedParts(
    { name: `${name}.${form}`, key: `${name}:${form}` },
    {
      values: { elem: 'i8', shape: whole ? [ins, outs] : [heads, ins, outs] },
      scales: { elem: 'f32', shape: whole ? [outs] : [heads, 1, outs] },
    },
    async () => {
      const { values, scales } = quantizeOutputs(await readF32(checkpoint, name), { heads, ins, outs, transposed })
      return { values, scales: bytesOf(scales) }
    },
  )
}

/** A matrix in blocks of 4 or 8 bits: values, scales and zero points. */
export function quantizedWeights(checkpoint: Checkpoint, { name, shape }: TensorInfo, options: QuantizeOptions) {
  const { bits, blockSize, scaleElem } = options
  const [outSize = 0, inSize = 0] = shape
  const blocks = blockCount(inSize, blockSize)
  return quantisedParts(
    { name, key: `${name}:int${bits}x${blockSize}:${scaleElem}` },
    {
      values: { elem: 'u8', shape: [outSize, blocks, packedBytes(blockSize, bits)] },
      scales: { elem: scaleElem, shape: [outSize * blocks] },
      zeroPoints: { elem: 'u8', shape: [outSize * packedBytes(blocks, bits)] },
    },
    async () => quantize(await readF32(checkpoint, name), outSize, inSize, options),
  )
}
