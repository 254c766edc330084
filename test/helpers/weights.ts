import { crc32, deflateRawSync } from 'node:zlib'

/** A float32 tensor for a test's weight file. */
export interface F32Tensor {
  readonly shape: readonly number[]
  readonly values: readonly number[]
}

function bytesOf(values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer)
}

/** A safetensors file: header length, JSON header, data. */
export function safetensorsOf(header: object, data: Uint8Array = new Uint8Array(0)): Uint8Array {
  const json = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  return Buffer.concat([length, json, data])
}

/** A valid safetensors file of float32 tensors, in the given order. */
export function f32Safetensors(tensors: Readonly<Record<string, F32Tensor>>): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  const parts: Uint8Array[] = []
  let at = 0
  for (const [name, { shape, values }] of Object.entries(tensors)) {
    const bytes = bytesOf(values)
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + bytes.length] }
    parts.push(bytes)
    at += bytes.length
  }
  return safetensorsOf(header, Buffer.concat(parts))
}

export interface ZipEntry {
  readonly name: string
  readonly data: Uint8Array
  readonly compress?: boolean
}

/** A zip archive; entries are stored unless they ask for deflate. */
export function zipOf(entries: readonly ZipEntry[]): Uint8Array {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let at = 0
  for (const { name, data, compress = false } of entries) {
    const body = compress ? deflateRawSync(data) : data
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(compress ? 8 : 0, 4)
    fields.writeUInt32LE(crc32(data), 10)
    fields.writeUInt32LE(body.length, 14)
    fields.writeUInt32LE(data.length, 18)
    fields.writeUInt16LE(Buffer.byteLength(name), 22)
    const header = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name)])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(at, 10)
    central.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), Buffer.from([20, 0]), fields, tail, Buffer.from(name)]))
    local.push(header, Buffer.from(body))
    at += header.length + body.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...local, directory, end])
}

/** Pickle instructions, spelled as Python's pickletools names them. */
export const op = {
  proto: (version = 2) => Buffer.from([0x80, version]),
  global: (module: string, name: string) => Buffer.from(`c${module}\n${name}\n`),
  stackGlobal: Buffer.from([0x93]),
  text: (value: string) => {
    const bytes = Buffer.from(value)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return Buffer.concat([Buffer.from('X'), length, bytes])
  },
  textOfLength: (claimed: number) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(claimed)
    return Buffer.concat([Buffer.from('X'), length])
  },
  /** Any integer below 2^63, as LONG1. */
  int: (value: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    return Buffer.concat([Buffer.from([0x8a, 8]), bytes])
  },
  put: (key: number) => Buffer.from([0x71, key]),
  get: (key: number) => Buffer.from([0x68, key]),
  memoize: Buffer.from([0x94]),
  mark: Buffer.from('('),
  tuple: Buffer.from('t'),
  tuple1: Buffer.from([0x85]),
  emptyTuple: Buffer.from(')'),
  emptyList: Buffer.from(']'),
  emptyDict: Buffer.from('}'),
  append: Buffer.from('a'),
  setItem: Buffer.from('s'),
  setItems: Buffer.from('u'),
  reduce: Buffer.from('R'),
  build: Buffer.from('b'),
  persistentId: Buffer.from('Q'),
  none: Buffer.from('N'),
  no: Buffer.from([0x89]),
  stop: Buffer.from('.'),
} as const

function tupleOf(...items: readonly Uint8Array[]): Buffer {
  return Buffer.concat([op.mark, ...items, op.tuple])
}
const ORDERED_DICT = Buffer.concat([op.global('collections', 'OrderedDict'), op.emptyTuple, op.reduce])

export interface TorchTensor {
  readonly storage: string
  readonly elements: number
  readonly shape: readonly number[]
  readonly strides?: readonly number[]
  readonly offset?: number
  readonly type?: string
}

function rowMajor(shape: readonly number[]): readonly number[] {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1))
}

/** The instructions that torch writes for one tensor. */
export function tensorPickle({
  storage,
  elements,
  shape,
  strides = rowMajor(shape),
  offset = 0,
  type = 'FloatStorage',
}: TorchTensor): Buffer {
  return Buffer.concat([
    op.global('torch._utils', '_rebuild_tensor_v2'),
    tupleOf(
      tupleOf(op.text('storage'), op.global('torch', type), op.text(storage), op.text('cpu'), op.int(elements)),
      op.persistentId,
      op.int(offset),
      tupleOf(...shape.map(op.int)),
      tupleOf(...strides.map(op.int)),
      op.no,
      ORDERED_DICT,
    ),
    op.reduce,
  ])
}

/** A state dict whose values are given as instructions; `_metadata` is set on it as torch does. */
export function stateDictPickle(entries: Readonly<Record<string, Uint8Array>>, protocol = 2): Buffer {
  return Buffer.concat([
    op.proto(protocol),
    ORDERED_DICT,
    op.mark,
    ...Object.entries(entries).flatMap(([name, value]) => [op.text(name), value]),
    op.setItems,
    op.emptyDict,
    op.text('_metadata'),
    ORDERED_DICT,
    op.setItem,
    op.build,
    op.stop,
  ])
}

/** The archive that torch.save writes around a pickle and its storages. */
export function torchZip(
  pickle: Uint8Array,
  storages: Readonly<Record<string, Uint8Array>> = {},
  more: readonly ZipEntry[] = [],
): Uint8Array {
  return zipOf([
    { name: 'archive/data.pkl', data: pickle },
    { name: 'archive/byteorder', data: Buffer.from('little') },
    ...Object.entries(storages).map(([key, data]) => ({ name: `archive/data/${key}`, data })),
    { name: 'archive/version', data: Buffer.from('3\n') },
    ...more,
  ])
}

/** A torch file of contiguous float32 tensors, one storage each. */
export function f32Torch(tensors: Readonly<Record<string, F32Tensor>>): Uint8Array {
  const list = Object.entries(tensors)
  const pickles = list.map(
    ([name, { shape, values }], i) => [name, tensorPickle({ storage: String(i), elements: values.length, shape })] as const,
  )
  const storages = list.map(([, { values }], i) => [String(i), bytesOf(values)] as const)
  return torchZip(stateDictPickle(Object.fromEntries(pickles)), Object.fromEntries(storages))
}
