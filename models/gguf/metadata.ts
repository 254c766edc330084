import { invalid } from '../errors.ts'
import type { GgufCursor } from './cursor.ts'

export type Scalar = number | boolean | string
export type MetadataValue = Scalar | readonly Scalar[]
export type Metadata = ReadonlyMap<string, MetadataValue>

const LIST = 9

interface Reader {
  /** Minimum bytes of a value. */
  readonly least: number
  read(cursor: GgufCursor): Scalar
}

/** By the numbers of GGUF's value types. */
const READERS: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [0, { least: 1, read: (cursor) => cursor.uint8() }],
  [1, { least: 1, read: (cursor) => cursor.int8() }],
  [2, { least: 2, read: (cursor) => cursor.uint16() }],
  [3, { least: 2, read: (cursor) => cursor.int16() }],
  [4, { least: 4, read: (cursor) => cursor.uint32() }],
  [5, { least: 4, read: (cursor) => cursor.int32() }],
  [6, { least: 4, read: (cursor) => cursor.float32() }],
  [7, { least: 1, read: (cursor) => cursor.uint8() !== 0 }],
  [8, { least: 8, read: (cursor) => cursor.string() }],
  [10, { least: 8, read: (cursor) => cursor.uint64() }],
  [11, { least: 8, read: (cursor) => cursor.int64() }],
  [12, { least: 8, read: (cursor) => cursor.float64() }],
])

function readerOf(type: number, key: string): Reader {
  const reader = READERS.get(type)
  if (reader === undefined)
    throw invalid(`metadata ${JSON.stringify(key)} is of the unknown type ${type}; the file is damaged: download it again`, key)
  return reader
}

/**
 * Reads the value at the cursor, after its type.
 * @param budget remaining list entries of the whole file
 * @throws checkpoint_invalid naming the key
 */
export function metadataValue(cursor: GgufCursor, key: string, budget: { entries: number }): MetadataValue {
  const type = cursor.uint32()
  if (type !== LIST) return readerOf(type, key).read(cursor)
  const reader = readerOf(cursor.uint32(), key)
  const count = cursor.uint64()
  if (count > budget.entries || count * reader.least > cursor.left)
    throw invalid(`metadata ${JSON.stringify(key)} claims a list of ${count} entries, more than can be: the file is damaged`, key)
  budget.entries -= count
  return Array.from({ length: count }, () => reader.read(cursor))
}

function isStrings(value: readonly Scalar[]): value is readonly string[] {
  return value.every((entry) => typeof entry === 'string')
}
function isNumbers(value: readonly Scalar[]): value is readonly number[] {
  return value.every((entry) => typeof entry === 'number')
}

function wrong(key: string, wanted: string): Error {
  return invalid(`metadata ${key} must be ${wanted}; convert the model again`, key)
}

/** A value of one type by its key; undefined if absent. @throws checkpoint_invalid for another type */
export function numberIn(metadata: Metadata, key: string): number | undefined {
  const value = metadata.get(key)
  if (value !== undefined && typeof value !== 'number') throw wrong(key, 'a number')
  return value
}
export function stringIn(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)
  if (value !== undefined && typeof value !== 'string') throw wrong(key, 'a string')
  return value
}
export function booleanIn(metadata: Metadata, key: string): boolean | undefined {
  const value = metadata.get(key)
  if (value !== undefined && typeof value !== 'boolean') throw wrong(key, 'true or false')
  return value
}
export function stringsIn(metadata: Metadata, key: string): readonly string[] | undefined {
  const value = metadata.get(key)
  if (value === undefined) return undefined
  if (typeof value !== 'object' || !isStrings(value)) throw wrong(key, 'a list of strings')
  return value
}
export function numbersIn(metadata: Metadata, key: string): readonly number[] | undefined {
  const value = metadata.get(key)
  if (value === undefined) return undefined
  if (typeof value !== 'object' || !isNumbers(value)) throw wrong(key, 'a list of numbers')
  return value
}
