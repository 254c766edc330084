import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { basename } from 'node:path'
import { invalid, unsupported } from '../errors.ts'
import { TENSOR_DTYPE_BYTES, elementCount, isTensorDtype } from './dtype.ts'
import type { WeightFile } from './file.ts'
import type { RawTensor, TensorInfo } from './checkpoint.ts'
import { messageOf, orThrow } from '../../base/errors.ts'
import { isObject } from '../../base/json.ts'

/** The format's limit on the JSON header. */
const MAX_HEADER_BYTES = 100_000_000

const HeaderEntrySchema = Type.Object({
  dtype: Type.String(),
  shape: Type.Array(Type.Integer({ minimum: 0 })),
  data_offsets: Type.Tuple([Type.Integer({ minimum: 0 }), Type.Integer({ minimum: 0 })]),
})

/** Contents of one weight file. */
export interface WeightIndex {
  readonly tensors: readonly TensorInfo[]
  /** The bytes that describe the tensors, part of the checkpoint's revision. */
  readonly header: Uint8Array
  /** Reads a tensor whose bytes in the file are not its values, or have a checksum. */
  readonly read?: (info: TensorInfo) => Promise<RawTensor>
}

function tensorInfo(name: string, entry: Static<typeof HeaderEntrySchema>, file: WeightFile, dataStart: number): TensorInfo {
  const where = `${basename(file.path)}: tensor ${name}`
  if (!isTensorDtype(entry.dtype)) throw unsupported(`${where} has the unknown dtype ${entry.dtype}`, name)
  const elements = elementCount(entry.shape)
  const [begin, end] = entry.data_offsets
  const bytes = end - begin
  const expected = elements === undefined ? undefined : elements * TENSOR_DTYPE_BYTES[entry.dtype]
  const message = `${where} [${entry.shape.join(', ')}] ${entry.dtype} needs ${expected ?? 'too many'} bytes, its data_offsets [${begin}, ${end}] hold ${bytes}`
  if (bytes !== expected) throw invalid(message, name)
  if (dataStart + end > file.size)
    throw invalid(`${where} ends at byte ${dataStart + end}, the file at ${file.size}; the download is incomplete`, name)
  return { name, dtype: entry.dtype, shape: entry.shape, file: file.path, offset: dataStart + begin, bytes }
}

/** The format requires that tensors tile the data section: no overlap, no gap, no trailing data. */
function checkTiling(tensors: readonly TensorInfo[], file: WeightFile, dataStart: number): void {
  const name = basename(file.path)
  let at = dataStart
  let previous = 'the header'
  for (const tensor of [...tensors].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)) {
    if (tensor.offset < at) throw invalid(`${name}: tensor ${tensor.name} overlaps ${previous}`, tensor.name)
    if (tensor.offset > at)
      throw invalid(`${name}: ${tensor.offset - at} bytes between ${previous} and tensor ${tensor.name} belong to no tensor`, tensor.name)
    at = tensor.offset + tensor.bytes
    previous = `tensor ${tensor.name}`
  }
  if (at !== file.size) throw invalid(`${name}: ${file.size - at} bytes behind ${previous} belong to no tensor`, file.path)
}

/**
 * Reads and validates the header of a safetensors file: u64 little-endian header length, JSON header, data
 * (https://github.com/huggingface/safetensors, "Format"). The data stays on disk.
 * @throws checkpoint_invalid for violations of the format; unsupported for an unknown dtype
 */
export async function readSafetensorsIndex(file: WeightFile): Promise<WeightIndex> {
  const name = basename(file.path)
  if (file.size < 8) throw invalid(`${name} has ${file.size} bytes, too few for a safetensors file`, file.path)
  const prefix = await file.read(0, 8)
  const length = new DataView(prefix.buffer).getBigUint64(0, true)
  if (length > BigInt(MAX_HEADER_BYTES))
    throw invalid(`${name}: header of ${length} bytes exceeds the limit of ${MAX_HEADER_BYTES}`, file.path)
  const headerBytes = Number(length)
  const dataStart = 8 + headerBytes
  const message = `${name}: the header claims ${headerBytes} bytes, the file has ${file.size - 8} behind its length; the file is truncated`
  if (dataStart > file.size) throw invalid(message, file.path)
  const header = await file.read(8, headerBytes)
  const listed = orThrow(
    () => JSON.parse(new TextDecoder().decode(header)) as unknown,
    (thrown) => invalid(`${name}: the safetensors header is not JSON (${messageOf(thrown)})`, name),
  )
  if (!isObject(listed)) throw invalid(`${name}: the safetensors header is not a JSON object`, name)
  const tensors: TensorInfo[] = []
  for (const [tensor, entry] of Object.entries(listed)) {
    if (tensor === '__metadata__') continue
    if (!Value.Check(HeaderEntrySchema, entry))
      throw invalid(`${name}: tensor ${tensor} needs dtype, shape and two data_offsets >= 0 in the header`, tensor)
    tensors.push(tensorInfo(tensor, entry, file, dataStart))
  }
  checkTiling(tensors, file, dataStart)
  return { tensors, header }
}
