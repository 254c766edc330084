import { f32ToF16 } from '../../base/binary16.ts'
import type { Checkpoint, TensorInfo } from '../checkpoint/checkpoint.ts'
import { quantizeOutputs, type QuantizedOutputs } from './quantize-outputs.ts'
import { quantize, blockCount, packedBytes, type Quantized, type QuantizeOptions } from './quantize.ts'
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
      const values = await checkpoint.readF32(name)
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

/** Reads parts that are computed together: on the first read, and released after the last. */
function together<Part extends string>(parts: readonly Part[], make: () => Promise<Readonly<Record<Part, Uint8Array>>>) {
  let made: ReturnType<typeof make> | undefined
  const unread = new Set(parts)
  return async (part: Part): Promise<Uint8Array> => {
    made ??= make()
    const bytes = (await made)[part]
    unread.delete(part)
    if (unread.size === 0) made = undefined
    return bytes
  }
}

/** A matrix in 8 bits: values, and one scale per output. It is quantised at the first read and released after the last. */
export function int8Weights(checkpoint: Checkpoint, { name, shape }: TensorInfo, use: Int8Use) {
  const [rows = 0, columns = 0] = shape
  const whole = use.kind === 'whole'
  const heads = whole ? 1 : use.heads
  const transposed = use.kind === 'heads-in'
  const [ins, outs] = transposed ? [rows / heads, columns] : [columns, rows / heads]
  const form = whole ? 'int8' : `int8.${use.kind}${heads}`
  const read = together(['values', 'scales'], async () => {
    const { values, scales } = quantizeOutputs(await checkpoint.readF32(name), { heads, ins, outs, transposed })
    return { values, scales: bytesOf(scales) }
  })
  const part = (which: keyof QuantizedOutputs, elem: Weight['elem'], partShape: readonly number[]): Weight => ({
    name: `${name}.${form}.${which}`,
    key: `${name}:${form}:${which}`,
    elem,
    shape: partShape,
    read: () => read(which),
  })
  return {
    values: part('values', 'i8', whole ? [ins, outs] : [heads, ins, outs]),
    scales: part('scales', 'f32', whole ? [outs] : [heads, 1, outs]),
  }
}

/** A matrix in blocks of 4 or 8 bits: values, scales and zero points. It is quantised at the first read and released after the last. */
export function quantizedWeights(checkpoint: Checkpoint, { name, shape }: TensorInfo, options: QuantizeOptions) {
  const { bits, blockSize, scaleElem } = options
  const [outSize = 0, inSize = 0] = shape
  const blocks = blockCount(inSize, blockSize)
  const read = together(['values', 'scales', 'zeroPoints'], async () => quantize(await checkpoint.readF32(name), outSize, inSize, options))
  const part = (which: keyof Quantized, elem: Weight['elem'], partShape: readonly number[]): Weight => ({
    name: `${name}.${which}`,
    key: `${name}:int${bits}x${blockSize}:${scaleElem}:${which}`,
    elem,
    shape: partShape,
    read: () => read(which),
  })
  return {
    values: part('values', 'u8', [outSize, blocks, packedBytes(blockSize, bits)]),
    scales: part('scales', scaleElem, [outSize * blocks]),
    zeroPoints: part('zeroPoints', 'u8', [outSize * packedBytes(blocks, bits)]),
  }
}
