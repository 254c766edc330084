import type { Checkpoint, RawTensor, TensorInfo } from './checkpoint.ts'
import { toF32 } from './weights.ts'

function isNorm(name: string): boolean {
  return name.endsWith('norm.weight')
}

/** The checkpoint with norms' weights as they multiply, in f32, where it stores them less 1. */
export function withWholeNorms(checkpoint: Checkpoint): Checkpoint {
  const { config } = checkpoint
  if (config.architecture !== 'cepe' || !config.decoder.normsLessOne) return checkpoint
  const whole = (info: TensorInfo): TensorInfo => (isNorm(info.name) ? { ...info, dtype: 'F32', converted: true } : info)
  const readF32 = async (name: string): Promise<Float32Array> => {
    const values = await checkpoint.readF32(name)
    return isNorm(name) ? values.map((value) => value + 1) : values
  }
  const read = async (name: string): Promise<RawTensor> => {
    const stored = await checkpoint.read(name)
    if (!isNorm(name)) return stored
    const values = toF32(name, stored).map((value) => value + 1)
    return { dtype: 'F32', shape: stored.shape, data: new Uint8Array(values.buffer) }
  }
  return { ...checkpoint, tensors: new Map([...checkpoint.tensors].map(([name, info]) => [name, whole(info)])), read, readF32 }
}
