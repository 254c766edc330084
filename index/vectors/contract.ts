import { CodedError } from '../../base/errors.ts'

/** Bytes of a number as files hold them, little-endian. */
export const NUMBER_BYTES = { f16: 2, f32: 4, f64: 8 } as const
export type NumberType = keyof typeof NUMBER_BYTES

/** A matrix [rows, dimension] in a file, row after row without gaps. */
export interface Matrix {
  readonly type: NumberType
  readonly rows: number
  readonly dimension: number
  /** Where in the file its first number is. */
  readonly offset: number
}

/** Vectors that a user brings along, and whose they are. */
export interface VectorSource extends Matrix {
  /** The user's file, for messages. */
  readonly name: string
  /** File of the numbers. */
  readonly path: string
  /** Ids of the passages, one a row in their order; read anew at each call. @throws corpus_invalid for what is no id. */
  ids(): AsyncIterable<string>
}

/** @throws corpus_invalid saying what is wrong with a file. */
export function refuse(name: string, what: string, cause?: unknown): never {
  throw new CodedError('corpus_invalid', `${name} ${what}.`, { field: name, cause })
}

/** What numpy calls a type of numbers (`<f2`) as ours; undefined for any other. */
export function numberType(descr: string): NumberType | undefined {
  return { f2: 'f16' as const, f4: 'f32' as const, f8: 'f64' as const }[descr.replace(/^[<|=]/, '')]
}

/** What is said of an array that is none of ours. */
export const READ_ARRAYS = 'arrays of little-endian float16, float32 or float64 numbers, [passages, numbers], row after row, are read'
