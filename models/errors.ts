import { CodedError } from '../base/errors.ts'

/** The input violates its format. */
export function invalid(message: string, field?: string): CodedError {
  return new CodedError('checkpoint_invalid', message, { field })
}

/** A damaged file. */
export function damagedFile(problem: string, field: string): CodedError {
  return invalid(`${problem}: download it again`, field)
}

/** The input is well formed but not supported. */
export function unsupported(message: string, field?: string): CodedError {
  return new CodedError('unsupported', message, { field })
}
