import { CodedError } from '../../base/errors.ts'

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
  /** File of the numbers. */
  readonly path: string
  /** Ids of the passages, in row order; each call reads them again. @throws corpus_invalid for an invalid id */
  ids(): AsyncIterable<string>
}

/** @throws corpus_invalid with the file's problem */
export function refuse(name: string, what: string, cause?: unknown): never {
  throw new CodedError('corpus_invalid', `${name} ${what}.`, { field: name, cause })
}

/** Maps numpy's name of a number type (`<f2`); undefined for others. */
export function numberType(descr: string): NumberType | undefined {
  return { f2: 'f16' as const, f4: 'f32' as const, f8: 'f64' as const }[descr.replace(/^[<|=]/, '')]
}

/** Supported arrays, for messages. */
export const READ_ARRAYS = 'arrays of little-endian float16, float32 or float64 numbers, [passages, numbers], row after row, are read'
