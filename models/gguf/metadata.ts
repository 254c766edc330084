import { damagedFile, invalid } from '../errors.ts'

export type GgufCursor = ReturnType<typeof ggufCursor>

/** Reads consecutive little-endian values. A read past the end throws `ended()` before anything is allocated. */
export function ggufCursor({ buffer, byteOffset, byteLength }: Uint8Array, ended: () => Error) {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  let at = 0
  const left = (): number => bytes.length - at
  const take = (length: number): number => {
    if (length > left()) throw ended()
    at += length
    return at - length
  }
  /** A number of so many bytes. 64-bit ones beyond 2^53 are approximate: larger than any file, so that checks fail as they should. */
  const number = (size: number, read: (from: Buffer, at: number) => number | bigint): number => Number(read(bytes, take(size)))
  const uint64 = (): number => number(8, (from, start) => from.readBigUInt64LE(start))
  return {
    /** Bytes read so far. */
    at: () => at,
    left,
    number,
    uint32: () => number(4, (from, start) => from.readUInt32LE(start)),
    uint64,
    /** A 64-bit length, then UTF-8. */
    string: (): string => {
      const length = uint64()
      const start = take(length)
      return bytes.toString('utf8', start, start + length)
    },
  }
}

type Scalar = number | boolean | string
export type MetadataValue = Scalar | readonly Scalar[]
export type Metadata = ReadonlyMap<string, MetadataValue>

const LIST = 9

interface Reader {
  /** Minimum bytes of a value. */
  readonly least: number
  read(cursor: GgufCursor): Scalar
}

function number(least: number, read: (buffer: Buffer, at: number) => number | bigint): Reader {
  return { least, read: (cursor) => cursor.number(least, read) }
}

/** By the numbers of GGUF's value types. */
const READERS: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [0, number(1, (buffer, at) => buffer.readUInt8(at))],
  [1, number(1, (buffer, at) => buffer.readInt8(at))],
  [2, number(2, (buffer, at) => buffer.readUInt16LE(at))],
  [3, number(2, (buffer, at) => buffer.readInt16LE(at))],
  [4, number(4, (buffer, at) => buffer.readUInt32LE(at))],
  [5, number(4, (buffer, at) => buffer.readInt32LE(at))],
  [6, number(4, (buffer, at) => buffer.readFloatLE(at))],
  [7, { least: 1, read: (cursor) => cursor.number(1, (buffer, at) => buffer.readUInt8(at)) !== 0 }],
  [8, { least: 8, read: (cursor) => cursor.string() }],
  [10, number(8, (buffer, at) => buffer.readBigUInt64LE(at))],
  [11, number(8, (buffer, at) => buffer.readBigInt64LE(at))],
  [12, number(8, (buffer, at) => buffer.readDoubleLE(at))],
])

function readerOf(type: number, key: string): Reader {
  const reader = READERS.get(type)
  if (reader === undefined) throw damagedFile(`metadata ${JSON.stringify(key)} is of the unknown type ${type}; the file is damaged`, key)
  return reader
}

/** Reads the value at the cursor, after its type. @param budget list entries left in the file @throws checkpoint_invalid naming the key */
export function metadataValue(cursor: GgufCursor, key: string, budget: { entries: number }): MetadataValue {
  const type = cursor.uint32()
  if (type !== LIST) return readerOf(type, key).read(cursor)
  const reader = readerOf(cursor.uint32(), key)
  const count = cursor.uint64()
  if (count > budget.entries || count * reader.least > cursor.left())
    throw damagedFile(`metadata ${JSON.stringify(key)} claims a list of ${count} entries, more than can be; the file is damaged`, key)
  budget.entries -= count
  return Array.from({ length: count }, () => reader.read(cursor))
}

/** Creates a getter of values of one type by key: undefined if absent, checkpoint_invalid for another type. */
function getter<T extends MetadataValue>(isWanted: (value: MetadataValue) => value is T, wanted: string) {
  return (metadata: Metadata, key: string): T | undefined => {
    const value = metadata.get(key)
    if (value === undefined || isWanted(value)) return value
    throw invalid(`metadata ${key} must be ${wanted}; convert the model again`, key)
  }
}

export const numberIn = getter((value) => typeof value === 'number', 'a number')
export const stringIn = getter((value) => typeof value === 'string', 'a string')
export const booleanIn = getter((value) => typeof value === 'boolean', 'true or false')
export const stringsIn = getter(
  (value): value is readonly string[] => typeof value === 'object' && value.every((entry) => typeof entry === 'string'),
  'a list of strings',
)
export const numbersIn = getter(
  (value): value is readonly number[] => typeof value === 'object' && value.every((entry) => typeof entry === 'number'),
  'a list of numbers',
)
