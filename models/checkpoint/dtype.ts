/** Bytes per element of the tensor types that checkpoints hold, by their safetensors names. */
export const TENSOR_DTYPE_BYTES = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I16: 2,
  U16: 2,
  F16: 2,
  BF16: 2,
  I32: 4,
  U32: 4,
  F32: 4,
  I64: 8,
  U64: 8,
  F64: 8,
} as const

export type TensorDtype = keyof typeof TENSOR_DTYPE_BYTES

/** Types allowed for weights; all others are data such as position ids. */
export const WEIGHT_DTYPES: readonly TensorDtype[] = ['F32', 'F16', 'BF16', 'F64']

export function isTensorDtype(name: string): name is TensorDtype {
  return Object.hasOwn(TENSOR_DTYPE_BYTES, name)
}

/** Number of elements of a shape; 1 for a scalar; undefined if a dimension is not an integer >= 0, or the product exceeds 2^53 - 1. */
export function elementCount(shape: readonly number[]): number | undefined {
  const count = shape.reduce((product, dim) => product * dim, 1)
  return [...shape, count].every((size) => Number.isSafeInteger(size) && size >= 0) ? count : undefined
}
