import { CodedError } from '../../base/errors.ts'

/** An option of a task's command, in Commander's form. */
export interface TaskOption {
  /** Such as `--contexts <numbers>`. */
  readonly flags: string
  readonly description: string
  readonly byDefault?: string
  /** Value with `--small`, if different. */
  readonly small?: string
}

/** A task's options as texts, with defaults, and typed accessors whose errors name the option. */
export interface TaskOptions {
  /** The value; undefined if absent. */
  text(name: string): string | undefined
  /** @throws options_invalid */
  integer(name: string, least?: number): number
  /** An integer, or `otherwise` if absent. @throws options_invalid */
  integerOr(name: string, otherwise: number, least?: number): number
  /** A number above 0. @throws options_invalid */
  decimal(name: string): number
  /** Ascending, distinct. @throws options_invalid */
  integers(name: string, least?: number): number[]
  /** @throws options_invalid for a word that is not allowed */
  words<Word extends string>(name: string, allowed: readonly Word[]): Word[]
  /** All given and default values, for the manifest. */
  readonly all: Readonly<Record<string, string>>
}

/** `--context-tokens <number>` -> `contextTokens`, as in Commander. */
function optionKey(flags: string): string {
  return (/--([\w-]+)/.exec(flags)?.[1] ?? flags).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Merges `given` with the task's defaults, or its small ones. */
export function taskOptions(
  task: { readonly options: readonly TaskOption[] },
  given: Readonly<Record<string, unknown>>,
  small = false,
): TaskOptions {
  const all = Object.fromEntries(
    task.options.flatMap(({ flags, byDefault, small: smallValue }): [string, string][] => {
      const key = optionKey(flags)
      const value = given[key] ?? (small ? smallValue : undefined) ?? byDefault
      return typeof value === 'string' ? [[key, value]] : []
    }),
  )
  const text = (name: string): string | undefined => all[name]
  const wordsOf = (name: string): string[] => {
    const wanted = listedWords(text(name) ?? '')
    if (wanted.length === 0) throw invalidOption(`${flagOf(name)} is missing.`)
    return wanted
  }
  return {
    all,
    text,
    integer: (name, least = 0) => {
      const value = text(name)
      if (value === undefined) throw invalidOption(`${flagOf(name)} is missing.`)
      return wholeNumber(flagOf(name), value, least)
    },
    integerOr: (name, otherwise, least = 0) => {
      const value = text(name)
      return value === undefined ? otherwise : wholeNumber(flagOf(name), value, least)
    },
    decimal: (name) => {
      const value = Number(text(name))
      if (!(value > 0 && value < Infinity)) throw invalidOption(`${flagOf(name)} takes numbers above 0, not ${JSON.stringify(text(name))}.`)
      return value
    },
    integers: (name, least = 0) => wholeNumbers(flagOf(name), text(name) ?? '', least),
    words: (name, allowed) =>
      wordsOf(name).map((word) => {
        const known = allowed.find((candidate) => candidate === word)
        if (known === undefined) throw invalidOption(`${flagOf(name)} takes ${allowed.join(', ')}, not ${JSON.stringify(word)}.`)
        return known
      }),
  }
}

/** Error for an invalid option. */
export function invalidOption(message: string): CodedError {
  return new CodedError('options_invalid', message)
}

/** @param flag the option as written by the user @throws options_invalid */
export function wholeNumber(flag: string, value: string, least: number, most = Infinity): number {
  const number = Number(value)
  if (value.trim() === '' || !Number.isInteger(number) || number < least || number > most)
    throw invalidOption(`${flag} takes whole numbers from ${least}${most === Infinity ? '' : ` to ${most}`}, not ${JSON.stringify(value)}.`)
  return number
}

/** The distinct numbers of a comma-separated list, ascending. @throws options_invalid */
export function wholeNumbers(flag: string, value: string, least: number, most = Infinity): number[] {
  const words = listedWords(value)
  if (words.length === 0) throw invalidOption(`${flag} is missing.`)
  const numbers = [...new Set(words.map((word) => wholeNumber(flag, word, least, most)))]
  return numbers.sort((a, b) => a - b)
}

/** The distinct words of a comma-separated list. */
export function listedWords(value: string): string[] {
  const words = value.split(',').map((word) => word.trim())
  return [...new Set(words.filter((word) => word !== ''))]
}
