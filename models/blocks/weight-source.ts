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

/** Both parts are computed together on the first read, and released after the second. */
export function int8Weights(
  checkpoint: Checkpoint,
  { name, shape }: TensorInfo,
  use: Int8Use,
): Readonly<Record<keyof QuantizedOutputs, Weight>> {
  const [rows = 0, columns = 0] = shape
  const heads = use.kind === 'whole' ? 1 : use.heads
  const [ins, outs] = use.kind === 'heads-in' ? [rows / heads, columns] : [columns, rows / heads]
  const form = use.kind === 'whole' ? 'int8' : `int8.${use.kind}${heads}`
  let made: QuantizedOutputs | undefined
  const part = (which: keyof QuantizedOutputs, elem: Weight['elem'], partShape: readonly number[]): Weight => ({
    name: `${name}.${form}.${which}`,
    key: `${name}:${form}:${which}`,
    elem,
    shape: partShape,
    read: async () => {
      const now = made ?? quantizeOutputs(await checkpoint.readF32(name), { heads, ins, outs, transposed: use.kind === 'heads-in' })
      made = made ? undefined : now
      return which === 'values' ? now.values : bytesOf(now.scales)
    },
  })
  const whole = use.kind === 'whole'
  return {
    values: part('values', 'i8', whole ? [ins, outs] : [heads, ins, outs]),
    scales: part('scales', 'f32', whole ? [outs] : [heads, 1, outs]),
  }
}

/** The three parts of a quantised matrix, computed together on the first read, and released after the last. */
export function quantizedWeights(
  checkpoint: Checkpoint,
  { name, shape }: TensorInfo,
  options: QuantizeOptions,
): Readonly<Record<keyof Quantized, Weight>> {
  const { bits, blockSize, scaleElem } = options
  const [outSize = 0, inSize = 0] = shape
  const blocks = blockCount(inSize, blockSize)
  const form = `int${bits}x${blockSize}:${scaleElem}`
  let made: Quantized | undefined
  const unread = new Set<keyof Quantized>(['values', 'scales', 'zeroPoints'])
  const part = (which: keyof Quantized, elem: Weight['elem'], partShape: readonly number[]): Weight => ({
    name: `${name}.${which}`,
    key: `${name}:${form}:${which}`,
    elem,
    shape: partShape,
    read: async () => {
      made ??= quantize(await checkpoint.readF32(name), outSize, inSize, options)
      const bytes = made[which]
      unread.delete(which)
      if (unread.size === 0) made = undefined
      return bytes
    },
  })
  return {
    values: part('values', 'u8', [outSize, blocks, packedBytes(blockSize, bits)]),
    scales: part('scales', scaleElem, [outSize * blocks]),
    zeroPoints: part('zeroPoints', 'u8', [outSize * packedBytes(blocks, bits)]),
  }
}
