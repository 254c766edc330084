import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import type { Checkpoint, RawTensor, TensorInfo } from '../checkpoint/checkpoint.ts'
import type { LlamaConfig } from '../checkpoint/config.ts'
import { openWeightFile, type WeightFile } from '../checkpoint/file.ts'
import { assertFinite, toF32 } from '../checkpoint/weights.ts'
import { invalid, unsupported } from '../errors.ts'
import { ggufConfig } from './config.ts'
import { dequantise, turnRowsBack } from './dequantise.ts'
import { readGgufHeader, type GgufHeader, type GgufTensor } from './header.ts'
import { numberIn } from './metadata.ts'
import { fromGgufName } from './names.ts'
import { ggufTokenizer } from './tokenizer.ts'

/** Bytes of each tensor's start and end that take part in the revision. */
const SAMPLE_BYTES = 256

function splitError(name: string, parts: string): CodedError {
  return unsupported(
    `${name} is one part of a model in ${parts} files; join them first (llama-gguf-split --merge FIRST-PART WHOLE.gguf) and give the whole file`,
    name,
  )
}

function checkNamedWhole(name: string): void {
  const parts = /-\d{5}-of-(\d{5})\.gguf$/i.exec(name)?.[1]
  if (parts !== undefined && Number(parts) !== 1) throw splitError(name, String(Number(parts)))
}

/** Messages of inner files name metadata and tensors; this one names the file. */
function inFile(name: string, thrown: unknown): unknown {
  if (!(thrown instanceof CodedError) || thrown.message.includes(name)) return thrown
  return new CodedError(thrown.code, `${name}: ${thrown.message}`, { field: thrown.field, cause: thrown })
}

async function revisionOf(file: WeightFile, header: GgufHeader): Promise<string> {
  const hash = createHash('sha256').update(`gguf ${file.size}`).update(header.bytes)
  for (const { offset, bytes } of header.tensors) {
    const sample = Math.min(SAMPLE_BYTES, bytes)
    hash.update(await file.read(offset, sample)).update(await file.read(offset + bytes - sample, sample))
  }
  return hash.digest('hex')
}

/** Heads whose rows GGUF keeps in another order; 0 for any other tensor. */
function turnedHeads(name: string, { heads, kvHeads }: LlamaConfig): number {
  if (name.endsWith('.self_attn.q_proj.weight')) return heads
  return name.endsWith('.self_attn.k_proj.weight') ? kvHeads : 0
}

function tensorInfo({ name, type, shape, offset, bytes }: GgufTensor, path: string): TensorInfo {
  const dtype = type === 'F16' || type === 'BF16' ? type : 'F32'
  return { name: fromGgufName(name), dtype, shape, file: path, offset, bytes, converted: true }
}

async function readTensor(file: WeightFile, stored: GgufTensor, info: TensorInfo, heads: number): Promise<RawTensor> {
  const { type } = stored
  const [rows = 0] = info.shape
  if (heads > 0 && (info.shape.length !== 2 || rows % (2 * heads) !== 0))
    throw invalid(
      `tensor ${stored.name} has the shape [${info.shape.join(', ')}], whose rows do not divide into ${heads} heads`,
      stored.name,
    )
  const raw = await file.read(stored.offset, stored.bytes)
  const ordered = heads > 0 ? turnRowsBack(raw, rows, heads) : raw
  const data = type === 'F32' || type === 'F16' || type === 'BF16' ? ordered : new Uint8Array(dequantise(type, ordered).buffer)
  assertFinite(stored.name, info.dtype, data)
  return { dtype: info.dtype, shape: info.shape, data }
}

/**
 * Opens a GGUF file (version 2 or 3, LLaMA) as a checkpoint: quantised tensors are read as float32, one at a time, the rows
 * of queries and keys in Hugging Face's order; the tokenizer comes from the metadata.
 * @throws checkpoint_invalid for a damaged file; unsupported for another architecture, tensor type, or one part of several.
 */
export async function openGguf(path: string): Promise<Checkpoint> {
  const name = basename(path)
  checkNamedWhole(name)
  const file = await openWeightFile(path)
  try {
    const header = await readGgufHeader(file)
    const parts = numberIn(header.metadata, 'split.count') ?? 1
    if (parts > 1) throw splitError(name, String(parts))
    const { metadata } = header
    const config = ggufConfig(header)
    const stored = new Map(header.tensors.map((tensor) => [fromGgufName(tensor.name), tensor]))
    if (stored.size !== header.tensors.length) throw invalid('two tensors stand for the same weight; convert the model again', 'tensors')
    const tensors = new Map([...stored].map(([canonical, tensor]) => [canonical, tensorInfo(tensor, path)]))
    const read = async (wanted: string): Promise<RawTensor> => {
      const [info, tensor] = [tensors.get(wanted), stored.get(wanted)]
      if (info === undefined || tensor === undefined) throw invalid(`${name} has no tensor ${wanted}`, wanted)
      return readTensor(file, tensor, info, turnedHeads(wanted, config.decoder))
    }
    return {
      dir: path,
      name: name.replace(/\.gguf$/i, ''),
      format: 'gguf',
      config,
      tensors,
      revision: await revisionOf(file, header),
      read,
      readF32: async (wanted) => toF32(wanted, await read(wanted)),
      tokenizer: () => ggufTokenizer(metadata, path),
      close: () => file.close(),
    }
  } catch (thrown) {
    await file.close()
    throw inFile(name, thrown)
  }
}
