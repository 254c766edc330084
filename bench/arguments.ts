import { parseArgs } from 'node:util'
import { at } from '../base/at.ts'
import { optionValues } from '../eval/run/options.ts'

/** Typed values of a benchmark's command line `--name value`, by the given names and defaults. @throws TypeError for an unknown option */
export function benchOptions(defaults: Readonly<Record<string, string>>) {
  const options = Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, { type: 'string' as const, default: value }]))
  const { values } = parseArgs({ options })
  const { integer, integers, words, text } = optionValues(values as Readonly<Record<string, string>>)
  return {
    text: (name: string): string => text(name) ?? '',
    count: (name: string): number => integer(name),
    counts: (name: string): number[] => integers(name),
    words,
    /** One of the allowed words. */
    word: <Word extends string>(name: string, allowed: readonly Word[]): Word => at(words(name, allowed), 0),
  }
}
