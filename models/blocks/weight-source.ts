import { f32ToF16 } from '../checkpoint/float16.ts'
import type { Checkpoint, TensorInfo } from '../checkpoint/types.ts'
import { unsupported } from '../errors.ts'
import type { Weight } from '../onnx/graph.ts'

const bytesOf = (values: Float32Array | Uint16Array): Uint8Array => new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

/** Half-precision bits. Errors: unsupported naming the tensor when a weight does not fit. */
const toHalf = (name: string, values: Float32Array): Uint16Array => {
  const halves = f32ToF16(values)
  if (halves.some((bits) => (bits & 0x7fff) === 0x7c00)) throw unsupported(`tensor ${name} exceeds the f16 range; build with dtype f32 or int4`, name)
  return halves
}

/** A checkpoint tensor as f32 or f16 weight; referable in place where it is stored in that type. */
export const floatWeight = (checkpoint: Checkpoint, info: TensorInfo, elem: 'f32' | 'f16'): Weight => {
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
export const computedWeight = (name: string, elem: 'f32' | 'f16', shape: readonly number[], compute: () => Float32Array): Weight => ({
  name,
  key: `${name}:${elem}`,
  elem,
  shape,
  read: () => Promise.resolve(bytesOf(elem === 'f32' ? compute() : toHalf(name, compute()))),
})
