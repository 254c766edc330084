import { parseArgs } from 'node:util'
import { CodedError } from '../base/errors.ts'

/** Options of a benchmark's command line; all have a default. */
export interface BenchOptions<Name extends string> {
  text(name: Name): string
  /** @throws options_invalid unless it is an integer */
  count(name: Name): number
  /** A comma-separated list of integers. @throws options_invalid */
  counts(name: Name): number[]
  /** A comma-separated list of allowed words. @throws options_invalid */
  words<Word extends string>(name: Name, allowed: readonly Word[]): Word[]
  /** An allowed word. @throws options_invalid */
  word<Word extends string>(name: Name, allowed: readonly Word[]): Word
}

/** Parses `--name value` by the given names and defaults. @throws TypeError of parseArgs for an unknown option */
export function benchOptions<const Defaults extends Readonly<Record<string, string>>>(
  defaults: Defaults,
): BenchOptions<keyof Defaults & string> {
  const { values } = parseArgs({
    options: Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, { type: 'string' as const, default: value }])),
  })
  const text = (name: string): string => String(values[name])
  const refuse = (name: string, allowed: string): never => {
    throw new CodedError('options_invalid', `--${name} takes ${allowed} (got "${text(name)}").`, { field: `--${name}` })
  }
  const isCount = (part: string): boolean => /^\d+$/.test(part)
  const words = <Word extends string>(name: string, allowed: readonly Word[]): Word[] =>
    text(name)
      .split(',')
      .map((part) => allowed.find((word) => word === part) ?? refuse(name, allowed.join(', ')))
  return {
    text,
    count: (name) => (isCount(text(name)) ? Number(text(name)) : refuse(name, 'a whole number')),
    counts: (name) => {
      const parts = text(name).split(',')
      return parts.every(isCount) ? parts.map(Number) : refuse(name, 'whole numbers with commas between them')
    },
    words,
    word: (name, allowed) => allowed.find((word) => word === text(name)) ?? refuse(name, allowed.join(' or ')),
  }
}
