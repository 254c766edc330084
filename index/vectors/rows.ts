import { basename } from 'node:path'
import { CodedError, invalidCorpus, messageOf } from '../../base/errors.ts'
import { fileBytes, readLines } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { READ_LIMITS } from '../read/contract.ts'
import { expanded } from '../read/expand.ts'
import { openParquet, parquetRows } from '../read/formats/parquet.ts'
import { passageId } from '../read/validate.ts'

/** Normalises an id as in the plan. @param where position in the file @throws corpus_invalid for an invalid id */
export function checkedId(given: unknown, file: string, where: string): string {
  const id = passageId(given)
  return typeof id === 'string' ? id : refuse(file, `has no id in ${where}: ${id.problem}`)
}

/** Bytes per number, little-endian. */
export const NUMBER_BYTES = { f16: 2, f32: 4, f64: 8 } as const
export type NumberType = keyof typeof NUMBER_BYTES

/** A row-major matrix [rows, dimension] in a file. */
export interface Matrix {
  readonly type: NumberType
  readonly rows: number
  readonly dimension: number
  /** Byte offset of its first number. */
  readonly offset: number
}

/** Vectors provided by a user, with their ids. */
export interface VectorSource extends Matrix {
  /** The user's file, for messages. */
  readonly name: string
  readonly path: string
  /** Ids of the passages, in row order; each call reads them again. @throws corpus_invalid for an invalid id */
  ids(): AsyncIterable<string>
}

/** @throws corpus_invalid with the file's problem */
export function refuse(name: string, what: string, cause?: unknown): never {
  throw invalidCorpus(name, `${name} ${what}.`, cause)
}

/** Maps numpy's name of a number type (`<f2`); undefined for others. */
export function numberType(descr: string): NumberType | undefined {
  return { f2: 'f16' as const, f4: 'f32' as const, f8: 'f64' as const }[descr.replace(/^[<|=]/, '')]
}

/** Supported arrays, for messages. */
export const READ_ARRAYS = 'arrays of little-endian float16, float32 or float64 numbers, [passages, numbers], row after row, are read'

export interface VectorRow {
  readonly id: string
  readonly vector: Float32Array
}

const ID_NAMES = ['id', '_id']

/** Most numbers of one row group: nested columns can only be decoded a whole group at a time, at some 16 bytes per number. */
const GROUP_NUMBERS = 1 << 26

/** Reads JSON lines, optionally compressed, with the fields id (or _id) and vector. @throws corpus_invalid naming the line */
export async function* readJsonVectors(path: string): AsyncGenerator<VectorRow> {
  const name = basename(path)
  for await (const line of readLines(expanded(fileBytes(path)), READ_LIMITS.lineBytes)) {
    const at = `line ${line.line}`
    if ('reason' in line) refuse(name, `cannot be used: ${at}: ${line.detail}`)
    if (line.text.trim() === '') continue
    const value = parseJson(line.text)
    if (typeof value !== 'object' || value === null) refuse(name, `has no JSON object in ${at}`)
    yield rowOf({ ...value }, name, at)
  }
}

function rowOf(row: Readonly<Record<string, unknown>>, name: string, where: string): VectorRow {
  const { vector } = row
  const id = checkedId(row['id'] ?? row['_id'], name, where)
  const numbers =
    Array.isArray(vector) || vector instanceof Float32Array || vector instanceof Float64Array ? [...(vector as number[])] : undefined
  if (numbers?.every((number) => typeof number === 'number') !== true)
    return refuse(name, `has no list of numbers as the vector of "${id}" (${where})`)
  return { id, vector: Float32Array.from(numbers) }
}

/** Reads a Parquet file with the columns id (or _id) and vector, a list of numbers. @throws corpus_invalid */
export async function* readParquetVectors(path: string, dimension: number): AsyncGenerator<VectorRow> {
  const name = basename(path)
  try {
    const parquet = await openParquet(path)
    const names = parquet.schema.children.map(({ element }) => element.name)
    const id = ID_NAMES.find((one) => names.includes(one))
    if (id === undefined || !names.includes('vector'))
      return refuse(name, `has no columns id and vector (found: ${names.slice(0, 8).join(', ')})`)
    const most = Math.floor(GROUP_NUMBERS / dimension)
    const large = parquet.metadata.row_groups.find(({ num_rows: count }) => count > most)
    if (large) refuse(name, `has a row group of ${large.num_rows} vectors: write it with at most ${most} rows in each (row_group_size)`)
    for await (const [number, row] of parquetRows(parquet, { columns: [id, 'vector'], mostBytes: Infinity })) {
      const given = row[id]
      yield rowOf({ id: typeof given === 'bigint' ? given.toString() : given, vector: row['vector'] }, name, `row ${number}`)
    }
  } catch (error) {
    if (error instanceof CodedError) throw error
    refuse(name, `cannot be read: ${messageOf(error)}`, error)
  }
}
