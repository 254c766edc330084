import { CodedError } from '../base/errors.ts'

/** Error for an invalid option. */
export function invalidOption(message: string): CodedError {
  return new CodedError('options_invalid', message)
}

/** @param flag the option as written by the user @throws options_invalid */
export function wholeNumber(flag: string, value: string, least: number): number {
  const number = Number(value)
  if (value.trim() === '' || !Number.isInteger(number) || number < least)
    throw invalidOption(`${flag} takes whole numbers from ${least}, not ${JSON.stringify(value)}.`)
  return number
}

/** The distinct words of a comma-separated list. */
export function listedWords(value: string): string[] {
  const words = value.split(',').map((word) => word.trim())
  return [...new Set(words.filter((word) => word !== ''))]
}
