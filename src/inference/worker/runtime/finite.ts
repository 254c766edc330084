import { CodedError } from '../../../../base/errors.ts'

/**
 * Returns a log-probability or a vector component if it is finite.
 * @throws inference_failed otherwise: an answer computed from NaN looks like any other
 */
export function checkNumber(value: number | undefined): number {
  if (value !== undefined && Number.isFinite(value)) return value
  throw new CodedError(
    'inference_failed',
    `The model gave ${value} where a number must be. Check its files and its precision with cepe verify.`,
  )
}
