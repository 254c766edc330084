import { f32ToF16 } from '../../base/binary16.ts'
import type { Checkpoint, TensorInfo } from '../checkpoint/types.ts'
import { quantize, blockCount, packedBytes, type Quantized, type QuantizeOptions } from './quantize.ts'
import { unsupported } from '../errors.ts'
import type { Weight } from '../onnx/graph.ts'

function bytesOf(values: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/** Half-precision bits. @throws unsupported naming the tensor when a weight does not fit. */
function toHalf(name: string, values: Float32Array): Uint16Array {
  const halves = f32ToF16(values)
  if (halves.some((bits) => (bits & 0x7fff) === 0x7c00))
    throw unsupported(`tensor ${name} exceeds the f16 range; build with dtype f32 or int4`, name)
  return halves
}

/** A checkpoint tensor as f32 or f16 weight; referable in place where it is stored in that type. */
export function floatWeight(checkpoint: Checkpoint, info: TensorInfo, elem: 'f32' | 'f16'): Weight {
  const { name, shape, dtype } = info
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
    ...(asStored && { inFile: { path: info.file, offset: info.offset } }),
  }
}

/** A weight that is computed from the configuration alone. */
export function computedWeight(name: string, elem: 'f32' | 'f16', shape: readonly number[], compute: () => Float32Array): Weight {
  return {
    name,
    key: `${name}:${elem}`,
    elem,
    shape,
    read: () => Promise.resolve(bytesOf(elem === 'f32' ? compute() : toHalf(name, compute()))),
  }
}

/** The three parts of a quantised matrix. They are made together, when the first is read, and let go with the last. */
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
