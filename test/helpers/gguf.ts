/** Little-endian GGUF of any contents, right or wrong. */
export interface GgufParts {
  readonly version?: number
  readonly entries: readonly GgufEntry[]
  readonly tensors?: readonly { readonly name: string; readonly dims: readonly number[]; readonly type: number; readonly offset: number }[]
  /** In place of the true counts. */
  readonly counts?: { readonly tensors?: bigint; readonly entries?: bigint }
  readonly data?: number
}

export type GgufEntry = readonly [key: string, value: string | number | boolean | Buffer]

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
export function u64(value: bigint | number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
export function text(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
}

/** A number is written as u32; a Buffer is a value with its type in front. */
function entry([key, value]: GgufEntry): Buffer {
  if (typeof value === 'string') return Buffer.concat([text(key), u32(8), text(value)])
  if (typeof value === 'boolean') return Buffer.concat([text(key), u32(7), Buffer.from([Number(value)])])
  return Buffer.concat([text(key), typeof value === 'number' ? Buffer.concat([u32(4), u32(value)]) : value])
}

export function ggufOf({ version = 3, entries, tensors = [], counts = {}, data = 0 }: GgufParts): Buffer {
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(version),
    u64(counts.tensors ?? tensors.length),
    u64(counts.entries ?? entries.length),
    ...entries.map(entry),
    ...tensors.map(({ name, dims, type, offset }) =>
      Buffer.concat([text(name), u32(dims.length), ...dims.map(u64), u32(type), u64(offset)]),
    ),
  ])
  return Buffer.concat([head, Buffer.alloc(((32 - (head.length % 32)) % 32) + data)])
}

const F32 = 0
const Q8_0 = 8

/** float32 values, or blocks of Q8_0 (a scale in f16 and 32 signed bytes each). */
type GgufValues = { readonly shape: readonly number[] } & ({ readonly values: readonly number[] } | { readonly blocks: Buffer })

function bytesOf(tensor: GgufValues): Buffer {
  return 'blocks' in tensor ? tensor.blocks : Buffer.from(Float32Array.from(tensor.values).buffer)
}

/** A GGUF file of these tensors. */
export function f32Gguf(tensors: Readonly<Record<string, GgufValues>>): Buffer {
  let at = 0
  const listed = Object.entries(tensors).map(([name, tensor]) => {
    const offset = at
    at += Math.ceil(bytesOf(tensor).length / 32) * 32
    return { name, dims: tensor.shape.toReversed(), type: 'blocks' in tensor ? Q8_0 : F32, offset }
  })
  const file = ggufOf({ entries: [['general.architecture', 'cepe']], tensors: listed, data: at })
  Object.values(tensors).forEach((tensor, index) => {
    const start = file.length - at + (listed[index]?.offset ?? 0)
    bytesOf(tensor).copy(file, start)
  })
  return file
}
