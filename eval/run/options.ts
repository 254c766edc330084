import { Type, type Static } from 'typebox'
import { present } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { readShipped } from '../datasets/shipped.ts'

/** An option of a task's command, in Commander's form. */
export const TaskOptionSchema = Type.Object({
  flags: Type.String({ description: 'Such as `--contexts <numbers>`.' }),
  description: Type.String(),
  byDefault: Type.Optional(Type.String()),
  small: Type.Optional(Type.String({ description: 'Value with `--small`, if different.' })),
})
export type TaskOption = Static<typeof TaskOptionSchema>

const Text = Type.String()
const MetricSchema = Type.Object({
  name: Type.String({ description: "Key of a result's scores." }),
  label: Text,
  aggregate: Type.Enum(['share', 'percent', 'mean', 'perplexity'], {
    description: 'share: mean of scores from 0 to 1; percent: that times 100. perplexity: exp of the mean of losses.',
  }),
  digits: Type.Integer(),
})
/** How scores of a metric are aggregated. */
export type Metric = Static<typeof MetricSchema>

const TasksSchema = Type.Object({
  shared: Type.Record(Text, Type.Array(TaskOptionSchema), { description: 'Options of several tasks.' }),
  tasks: Type.Record(
    Text,
    Type.Object({
      version: Type.Integer({ description: 'Increased when the same options give other scores: earlier runs are rejected, never mixed.' }),
      title: Text,
      description: Text,
      options: Type.Array(Type.Union([TaskOptionSchema, Text]), { description: 'A text is the name of shared options.' }),
      metrics: Type.Array(MetricSchema),
      notes: Type.Array(Text, { description: 'How it was measured, for the report.' }),
      publishedTable: Type.Optional(Type.String({ description: "Number of the paper's table with published scores." })),
    }),
  ),
})
const { shared, tasks } = readShipped('eval/tasks.json', TasksSchema)

/** What eval/tasks.json says of a task: its texts, options and metrics. */
export function taskData(name: string) {
  const data = present(tasks[name])
  return { name, ...data, options: data.options.flatMap((option) => (typeof option === 'string' ? present(shared[option]) : option)) }
}

/** `--context-tokens <number>` -> `contextTokens`, as in Commander. */
export function optionKey(flags: string): string {
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
  const values = task.options.flatMap(({ flags, byDefault, small: smallValue }): [string, string][] => {
    const key = optionKey(flags)
    const value = given[key] ?? (small ? smallValue : undefined) ?? byDefault
    return typeof value === 'string' ? [[key, value]] : []
  })
  return optionValues(Object.fromEntries(values))
}

export type TaskOptions = ReturnType<typeof optionValues>

/** Typed accessors of options, whose errors name the option. */
export function optionValues(all: Readonly<Record<string, string>>) {
  const text = (name: string): string | undefined => all[name]
  return {
    /** All given and default values, for the manifest. */
    all,
    text,
    /** @throws options_invalid if it is absent without `otherwise` */
    integer: (name: string, least = 0, { otherwise, most }: { otherwise?: number; most?: number } = {}): number => {
      const value = text(name) ?? otherwise?.toString()
      if (value === undefined) throw invalidOption(`${flagOf(name)} is missing.`)
      return wholeNumber(flagOf(name), value, least, most)
    },
    /** A number above 0. @throws options_invalid */
    decimal: (name: string): number => {
      const value = Number(text(name))
      if (!(value > 0 && value < Infinity)) throw invalidOption(`${flagOf(name)} takes numbers above 0, not ${JSON.stringify(text(name))}.`)
      return value
    },
    /** Ascending, distinct. @throws options_invalid */
    integers: (name: string, least = 0, most?: number): number[] => wholeNumbers(flagOf(name), text(name) ?? '', least, most),
    /** @throws options_invalid for a word that is not allowed */
    words: <Word extends string>(name: string, allowed: readonly Word[]): Word[] => {
      const wanted = listedWords(text(name) ?? '')
      if (wanted.length === 0) throw invalidOption(`${flagOf(name)} is missing.`)
      return wanted.map((word) => allowedWord(flagOf(name), word, allowed))
    },
    /** @throws options_invalid for anything but one of the words */
    word: <Word extends string>(name: string, allowed: readonly Word[]): Word => allowedWord(flagOf(name), text(name) ?? '', allowed),
  }
}

function allowedWord<Word extends string>(flag: string, word: string, allowed: readonly Word[]): Word {
  const known = allowed.find((candidate) => candidate === word)
  if (known === undefined) throw invalidOption(`${flag} takes ${allowed.join(', ')}, not ${JSON.stringify(word)}.`)
  return known
}

export function invalidOption(message: string, cause?: unknown): CodedError {
  return new CodedError('options_invalid', message, { cause })
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
  return [...new Set(words.map((word) => wholeNumber(flag, word, least, most)))].sort((a, b) => a - b)
}

/** The distinct words of a comma-separated list. */
export function listedWords(value: string): string[] {
  const words = value.split(',').map((word) => word.trim())
  return [...new Set(words.filter((word) => word !== ''))]
}
