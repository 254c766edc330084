import { InvalidArgumentError, Option } from 'commander'

/** Parses an option as an integer. @throws InvalidArgumentError with the allowed range */
export function wholeNumber({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}): (text: string) => number {
  return numberIn('whole number', /^\d+$/, min, max)
}

/** Parses an option as a number. @throws InvalidArgumentError with the allowed range */
export function decimal({ min = 0, max = Infinity } = {}): (text: string) => number {
  return numberIn('number', /\S/, min, max)
}

function numberIn(kind: string, written: RegExp, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (written.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a ${kind} from ${min}${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}.`)
  }
}

/** `--collection`, of every command that works on one. */
export function collectionOption(): Option {
  const option = new Option('--table, --collection <name>', 'collection (default: CEPE_TABLE)')
  // The earlier name is understood, not shown.
  option.flags = '--collection <name>'
  return option
}
