import { invalid, unsupported } from '../errors.ts'
import type { TensorDtype } from './dtype.ts'
import { bf16ToF32, f16ToF32 } from '../../base/binary16.ts'
import type { RawTensor, Checkpoint, TensorInfo } from './checkpoint.ts'
import type { WeightFile } from './file.ts'

function words16(data: Uint8Array): Uint16Array {
  return new Uint16Array(data.buffer, data.byteOffset, data.length / 2)
}

/** First element whose masked bits are all ones: an exponent that means NaN or infinity. */
function firstMasked(words: Uint16Array | Uint32Array, mask: number): number {
  for (let i = 0; i < words.length; i++) if (((words[i] as number) & mask) === mask) return i
  return -1
}

/** Index of the first NaN or infinite element of raw bytes; -1 when all are finite or the type has no such values. */
function firstNonFinite(dtype: TensorDtype, data: Uint8Array): number {
  if (dtype === 'F32') return firstMasked(new Uint32Array(data.buffer, data.byteOffset, data.length / 4), 0x7f800000)
  if (dtype === 'F16' || dtype === 'BF16') return firstMasked(words16(data), dtype === 'F16' ? 0x7c00 : 0x7f80)
  if (dtype !== 'F64') return -1
  return new Float64Array(data.buffer, data.byteOffset, data.length / 8).findIndex((value) => !Number.isFinite(value))
}

/** @throws checkpoint_invalid naming the tensor and element when a value is NaN or infinite. */
export function assertFinite(name: string, dtype: TensorDtype, data: Uint8Array): void {
  const index = firstNonFinite(dtype, data)
  if (index >= 0) throw invalid(`tensor ${name} holds a NaN or infinite weight at element ${index}; the checkpoint is damaged`, name)
}

/** A weight as float32; F32 is viewed, not copied. @throws unsupported for another dtype; checkpoint_invalid for an F64 beyond float32 */
export function toF32(name: string, tensor: RawTensor): Float32Array {
  const { dtype, data } = tensor
  if (dtype === 'F32') return new Float32Array(data.buffer, data.byteOffset, data.length / 4)
  if (dtype === 'F16') return f16ToF32(words16(data))
  if (dtype === 'BF16') return bf16ToF32(words16(data))
  if (dtype !== 'F64') throw unsupported(`tensor ${name} is ${dtype}; weights may be F32, F16, BF16 or F64`, name)
  const values = Float32Array.from(new Float64Array(data.buffer, data.byteOffset, data.length / 8))
  assertFinite(name, 'F32', new Uint8Array(values.buffer))
  return values
}

/** Reads a tensor that is stored as it is. @throws checkpoint_invalid for a short file, a NaN or infinite weight */
export async function readTensor(file: WeightFile, { name, dtype, shape, offset, bytes }: TensorInfo): Promise<RawTensor> {
  const data = await file.read(offset, bytes)
  assertFinite(name, dtype, data)
  return { dtype, shape, data }
}

/** A checkpoint's weight as float32. @throws those of Checkpoint.read and toF32 */
export async function readF32(checkpoint: Pick<Checkpoint, 'read'>, name: string): Promise<Float32Array> {
  return toF32(name, await checkpoint.read(name))
}

/** A float32 tensor of these values, which it shares. */
export function f32Tensor(values: Float32Array, shape: readonly number[]): RawTensor {
  return { dtype: 'F32', shape, data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) }
}

/**
 * The checkpoint with some tensors changed on read, as float32. `changeOf` a tensor's name gives the new tensor from the stored one, which it
 * may overwrite; undefined for a tensor that stays.
 */
export function withChanged(
  checkpoint: Checkpoint,
  changeOf: (name: string) => ((stored: RawTensor) => RawTensor | Promise<RawTensor>) | undefined,
): Checkpoint {
  // A changed tensor has its own name: another one may share the stored bytes.
  const changed = (name: string, info: TensorInfo): TensorInfo => (changeOf(name) ? { ...info, name, dtype: 'F32', converted: true } : info)
  return {
    ...checkpoint,
    tensors: new Map([...checkpoint.tensors].map(([name, info]) => [name, changed(name, info)])),
    read: async (name) => {
      const stored = await checkpoint.read(name)
      return changeOf(name)?.(stored) ?? stored
    },
  }
}

/** The checkpoint with norms' weights as they multiply, in f32, where it stores them less 1. */
export function withWholeNorms(checkpoint: Checkpoint): Checkpoint {
  const { config } = checkpoint
  if (config.architecture !== 'cepe' || !config.decoder.normsLessOne) return checkpoint
  const whole = (name: string, stored: RawTensor): RawTensor => {
    const weights = toF32(name, stored).map((weight) => weight + 1)
    return f32Tensor(weights, stored.shape)
  }
  return withChanged(checkpoint, (name) => (name.endsWith('norm.weight') ? (stored) => whole(name, stored) : undefined))
}
