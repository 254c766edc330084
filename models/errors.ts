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

const MANY = 5

/** Names in a message, the first of many. */
export function listed(names: readonly string[]): string {
  return names.length <= MANY ? names.join(', ') : `${names.slice(0, MANY).join(', ')} and ${names.length - MANY} more`
}
