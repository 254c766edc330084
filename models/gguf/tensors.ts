import { createHash } from 'node:crypto'
import { present } from '../../base/at.ts'
import type { RawTensor, TensorInfo } from '../checkpoint/checkpoint.ts'
import { hashEnds, type WeightFile } from '../checkpoint/file.ts'
import type { WeightIndex } from '../checkpoint/safetensors.ts'
import { assertFinite } from '../checkpoint/weights.ts'
import { damagedFile } from '../errors.ts'
import { dequantise, turnRowsBack } from './dequantise.ts'
import { readGgufHeader, type GgufHeader, type GgufTensor } from './header.ts'
import type { GgufType } from './types.ts'

/** SHA-256 (hex) over the header and the ends of every tensor. */
export async function ggufRevision(file: WeightFile, header: GgufHeader): Promise<string> {
  const hash = createHash('sha256').update(`gguf ${file.size}`).update(header.bytes)
  await hashEnds(hash, file, header.tensors)
  return hash.digest('hex')
}

/** Quantised tensors are read as float32. */
function dtypeOf(type: GgufType): 'F16' | 'BF16' | 'F32' {
  return type === 'F16' || type === 'BF16' ? type : 'F32'
}

/** A tensor under its canonical name. */
export function storedTensor({ type, shape, offset, bytes }: GgufTensor, name: string, path: string): TensorInfo {
  return { name, dtype: dtypeOf(type), shape, file: path, offset, bytes, converted: true }
}

/**
 * Reads and dequantises one tensor.
 * @param heads of query or key rows in GGUF's order; 0 for any other tensor
 * @throws checkpoint_invalid naming a tensor that is not finite or whose rows do not divide into the heads
 */
export async function readGgufTensor(file: WeightFile, { name, type, shape, offset, bytes }: GgufTensor, heads = 0): Promise<RawTensor> {
  const [rows = 0] = shape
  if (heads > 0 && (shape.length !== 2 || rows % (2 * heads) !== 0))
    throw damagedFile(`tensor ${name} has the shape [${shape.join(', ')}], whose rows do not divide into ${heads} heads`, name)
  const raw = await file.read(offset, bytes)
  const ordered = heads > 0 ? turnRowsBack(raw, rows, heads) : raw
  const data = type === 'F32' || type === 'F16' || type === 'BF16' ? ordered : new Uint8Array(dequantise(type, ordered).buffer)
  const dtype = dtypeOf(type)
  assertFinite(name, dtype, data)
  return { dtype, shape, data }
}

/** The index of a GGUF file that has the tensors of a Hugging Face folder, by their names there. @throws those of readGgufHeader */
export async function readGgufIndex(file: WeightFile): Promise<WeightIndex> {
  const { tensors, bytes } = await readGgufHeader(file)
  const stored = new Map(tensors.map((tensor) => [tensor.offset, tensor]))
  return {
    tensors: tensors.map((tensor) => storedTensor(tensor, tensor.name, file.path)),
    header: bytes,
    read: (info) => readGgufTensor(file, present(stored.get(info.offset))),
  }
}
