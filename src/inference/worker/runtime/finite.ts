import { CodedError } from '../../../../base/errors.ts'

/**
 * A log-probability, or a number of a vector, that can be used.
 * @throws inference_failed where it is none: an answer from NaN looks like any other
 */
export function checkNumber(value: number | undefined): number {
  if (value !== undefined && Number.isFinite(value)) return value
  throw new CodedError(
    'inference_failed',
    `The model gave ${value} where a number must be. Check its files and its precision with cepe verify.`,
  )
}
