import { parseArgs } from 'node:util'
import { CodedError } from '../../base/errors.ts'

/** Options of a benchmark's command line; all have a default. */
export interface BenchOptions<Name extends string> {
  text(name: Name): string
  /** @throws options_invalid for what is no whole number. */
  count(name: Name): number
  /** Whole numbers with commas between them. @throws options_invalid */
  counts(name: Name): number[]
  /** Words of a list, with commas between them. @throws options_invalid for another. */
  words<Word extends string>(name: Name, allowed: readonly Word[]): Word[]
  /** @throws options_invalid for another word. */
  word<Word extends string>(name: Name, allowed: readonly Word[]): Word
}

/** Reads `--name value` by the names and defaults given. @throws TypeError of parseArgs for an option that is none of them. */
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
