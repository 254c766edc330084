import { CodedError } from '../base/errors.ts'

/** The input breaks its own format. */
export function invalid(message: string, field?: string): CodedError {
  return new CodedError('checkpoint_invalid', message, { field })
}

/** The input is well formed, but nothing here handles it. */
export function unsupported(message: string, field?: string): CodedError {
  return new CodedError('unsupported', message, { field })
}
