import { basename } from 'node:path'
import { crc32 } from 'node:zlib'
import { at } from '../../base/at.ts'
import { PICKLE_LIMITS } from '../../base/pickle/machine.ts'
import { readPickle, type PickleHost } from '../../base/pickle/read.ts'
import { PickleDict, PickleGlobal, PickleObject, PickleTuple, describePickle, type PickleValue } from '../../base/pickle/values.ts'
import { invalid, unsupported } from '../errors.ts'
import { TENSOR_DTYPE_BYTES, elementCount, type TensorDtype } from './dtype.ts'
import type { WeightFile } from './file.ts'
import type { WeightIndex } from './safetensors.ts'
import type { RawTensor, TensorInfo } from './checkpoint.ts'
import { readTensor } from './weights.ts'
import { readStoredZip, type StoredEntry } from './zip.ts'

/** Tensors of one file; LLaMA-2-70B has 723 in all. */
const MAX_TENSORS = 100_000
const MAX_DIMS = 8
const READ_BYTES = 1 << 24

const STORAGE_DTYPES: ReadonlyMap<string, TensorDtype> = new Map<string, TensorDtype>([
  ['torch.FloatStorage', 'F32'],
  ['torch.HalfStorage', 'F16'],
  ['torch.BFloat16Storage', 'BF16'],
  ['torch.DoubleStorage', 'F64'],
  ['torch.LongStorage', 'I64'],
  ['torch.IntStorage', 'I32'],
  ['torch.ShortStorage', 'I16'],
  ['torch.CharStorage', 'I8'],
  ['torch.ByteStorage', 'U8'],
  ['torch.BoolStorage', 'BOOL'],
])
const ORDERED_DICT = 'collections.OrderedDict'
const REBUILD_TENSOR = 'torch._utils._rebuild_tensor_v2'
const REBUILD_PARAMETER = 'torch._utils._rebuild_parameter'

/** One entry `data/<key>` of the archive: a flat array viewed by one or more tensors. */
class Storage extends PickleObject {
  readonly kind = 'a storage'
  constructor(
    readonly key: string,
    readonly dtype: TensorDtype,
    readonly elements: number,
  ) {
    super()
  }
}

class Tensor extends PickleObject {
  readonly kind = 'a tensor'
  /** @param offset in elements */
  constructor(
    readonly storage: Storage,
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {
    super()
  }
}

function isCount(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function counts(value: PickleValue | undefined): readonly number[] | undefined {
  return value instanceof PickleTuple && value.items.length <= MAX_DIMS && value.items.every(isCount) ? value.items : undefined
}

function torchHost(file: string): PickleHost {
  const refuse = (what: string): never => {
    throw invalid(`${file}: ${what}; nothing of the file was executed`, file)
  }
  const rebuildTensor = ([storage, offset, size, stride]: readonly PickleValue[]): Tensor => {
    const shape = counts(size)
    const strides = counts(stride)
    if (!(storage instanceof Storage) || !isCount(offset) || shape === undefined || strides?.length !== shape.length) {
      const message = `a tensor is described by (${[storage, offset, size, stride].map(describePickle).join(', ')}) instead of storage, offset, shape and strides (at most ${MAX_DIMS} dimensions)`
      return refuse(message)
    }
    return new Tensor(storage, offset, shape, strides)
  }
  return {
    fail: (problem) => {
      throw invalid(`${file}: the pickle ${problem}`, file)
    },
    admit: (path) => {
      if (STORAGE_DTYPES.has(path) || path === ORDERED_DICT || path === REBUILD_TENSOR || path === REBUILD_PARAMETER) return
      refuse(`the pickle names ${JSON.stringify(path.slice(0, 200))}, which is no part of a state dict of plain tensors`)
    },
    call: (path, args) => {
      if (path === ORDERED_DICT && args.length === 0) return new PickleDict()
      if (path === REBUILD_TENSOR) return rebuildTensor(args)
      const [first] = args
      if (path === REBUILD_PARAMETER && first instanceof Tensor) return first
      return refuse(`the pickle calls ${path} with ${args.length} unexpected arguments`)
    },
    persistent: (id) => {
      const [tag, type, key, , elements] = id instanceof PickleTuple ? id.items : []
      const dtype = type instanceof PickleGlobal ? STORAGE_DTYPES.get(type.path) : undefined
      if (tag !== 'storage' || dtype === undefined || typeof key !== 'string' || !isCount(elements)) {
        return refuse(`the pickle refers to ${describePickle(id)}, which is no storage`)
      }
      return new Storage(key, dtype, elements)
    },
  }
}

/** Row-major strides; dimensions of size 1 do not matter. */
function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  let stride = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const dim = at(shape, axis)
    if (dim !== 1 && strides[axis] !== stride) return false
    stride *= dim
  }
  return true
}

/** Where an archive's file stores a tensor; `entryOf` finds an entry below the folder it was saved in. */
function locateTensor(name: string, tensor: Tensor, file: WeightFile, entryOf: (path: string) => StoredEntry | undefined): TensorInfo {
  const where = `${basename(file.path)}: tensor ${name}`
  const { storage, offset, shape, strides } = tensor
  const size = TENSOR_DTYPE_BYTES[storage.dtype]
  const entry = entryOf(`data/${storage.key}`)
  if (entry === undefined) throw invalid(`${where} refers to data/${storage.key}, which the archive lacks`, name)
  if (entry.bytes !== storage.elements * size)
    throw invalid(`${where}: data/${storage.key} has ${entry.bytes} bytes for ${storage.elements} elements of ${storage.dtype}`, name)
  const elements = elementCount(shape)
  if (elements === undefined || offset + elements > storage.elements)
    throw invalid(`${where} [${shape.join(', ')}] at ${offset} reaches beyond its storage of ${storage.elements} elements`, name)
  const message = `${where} [${shape.join(', ')}] has the strides [${strides.join(', ')}]; only contiguous tensors are read: call .contiguous() and save it again`
  if (elements > 0 && !isContiguous(shape, strides)) throw unsupported(message, name)
  return { name, dtype: storage.dtype, shape, file: file.path, offset: entry.offset + offset * size, bytes: elements * size }
}

const PICKLE_NAME = 'data.pkl'

function readRoot(entries: ReadonlyMap<string, StoredEntry>, file: WeightFile): { root: string; pickle: StoredEntry } {
  const [name, pickle] = [...entries].find(([path]) => path.split('/').length <= 2 && path.split('/').at(-1) === PICKLE_NAME) ?? []
  if (name !== undefined && pickle !== undefined) return { root: name.slice(0, -PICKLE_NAME.length), pickle }
  throw invalid(`${basename(file.path)} is a zip without ${PICKLE_NAME}, so not written by torch.save`, file.path)
}

async function checkByteOrder(entry: StoredEntry | undefined, file: WeightFile): Promise<void> {
  if (entry === undefined) return
  const order = new TextDecoder().decode(await file.read(entry.offset, Math.min(entry.bytes, 16)))
  if (order !== 'little')
    throw unsupported(`${basename(file.path)} has the byte order ${JSON.stringify(order)}; only little-endian files are read`, file.path)
}

/** Compares an entry with its CRC-32. @throws checkpoint_invalid */
async function checkEntry(name: string, { offset, bytes, sum }: StoredEntry, file: WeightFile): Promise<void> {
  let found = 0
  for (let at = 0; sum !== 0 && at < bytes; at += READ_BYTES)
    found = crc32(await file.read(offset + at, Math.min(READ_BYTES, bytes - at)), found)
  if (found !== sum)
    throw invalid(`${basename(file.path)}: entry ${name} is damaged: its CRC-32 differs; download the file again`, file.path)
}

/**
 * Reads the tensors of a file that torch.save wrote from a state dict (zip of a pickle and raw storages, torch 1.6 and later; layout:
 * torch/serialization.py). Nothing of the pickle is executed; shared storages are supported.
 * @throws checkpoint_invalid for a damaged or foreign file; unsupported for strided tensors, compression, big-endian files
 */
export async function readTorchIndex(file: WeightFile): Promise<WeightIndex> {
  const name = basename(file.path)
  const entries = await readStoredZip(file)
  const { root, pickle } = readRoot(entries, file)
  const entryOf = (path: string): StoredEntry | undefined => entries.get(`${root}${path}`)
  await checkByteOrder(entryOf('byteorder'), file)
  if (pickle.bytes > PICKLE_LIMITS.bytes)
    throw invalid(`${name}: ${PICKLE_NAME} has ${pickle.bytes} bytes, more than ${PICKLE_LIMITS.bytes}`, file.path)
  await checkEntry(PICKLE_NAME, pickle, file)
  const header = await file.read(pickle.offset, pickle.bytes)
  const state = readPickle({ size: header.length, read: (offset) => header.subarray(offset) }, torchHost(name))
  if (!(state instanceof PickleDict)) throw invalid(`${name} holds ${describePickle(state)} instead of a state dict`, file.path)
  if (state.entries.size > MAX_TENSORS) throw invalid(`${name} holds ${state.entries.size} tensors, more than ${MAX_TENSORS}`, file.path)
  const tensors: TensorInfo[] = []
  for (const [key, value] of state.entries) {
    const message = `${name}: entry ${describePickle(key)} of the state dict is ${describePickle(value)}, not a tensor; save the bare state dict`
    if (typeof key !== 'string' || !(value instanceof Tensor)) throw invalid(message, file.path)
    tensors.push(locateTensor(key, value, file, entryOf))
  }
  const unread = new Map(entries)
  const read = async (info: TensorInfo): Promise<RawTensor> => {
    const [name, entry] = [...unread].find(([, { offset, bytes }]) => offset <= info.offset && info.offset < offset + bytes) ?? []
    if (name !== undefined && entry !== undefined) await checkEntry(name, entry, file)
    unread.delete(name ?? '')
    return readTensor(file, info)
  }
  return { tensors, header, read }
}
