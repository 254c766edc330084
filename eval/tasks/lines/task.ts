import { CodedError } from '../../../base/errors.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { TaskOptions } from '../../task/options.ts'
import type { PreparedTask, Task } from '../../task/contract.ts'
import { overGroup } from '../documents/figures.ts'
import { VICUNA } from '../documents/generate.ts'
import { sizeFor } from '../documents/lengths.ts'
import { NEEDLE_OPTIONS, NUMBER_METRICS, NUMBERS, prepareNeedles, type NeedleItem } from '../documents/needle.ts'
import { linesCase, MOST_LINES } from './generate.ts'

/** LongChat-Lines, as in Giraffe. */
export const lines: Task = {
  name: 'lines',
  version: 2,
  title: 'LongChat-Lines',
  description: 'A record of named lines with a number each, one of which is asked for.',
  options: [
    {
      flags: '--data <file>',
      description: "published cases in place of generated ones: LongChat's or Giraffe's {prompt, expected_number}",
    },
    {
      flags: '--tokens <numbers>',
      description: 'tokens of the prompt, a list: as many lines as fill them',
      byDefault: '2500,5000,7500,10000,15000,22000',
      small: '200,400,800,1600',
    },
    { flags: '--lines <numbers>', description: 'lines of a record in place of tokens, a list' },
    { flags: '--cases <number>', description: 'cases per length', byDefault: '50', small: '4' },
    { flags: '--seed <number>', description: 'of the records', byDefault: '0' },
    ...NEEDLE_OPTIONS,
    { flags: '--max-new-tokens <number>', description: 'longest output', byDefault: '35', small: '8' },
    { flags: '--min-new-tokens <number>', description: 'least new tokens', byDefault: '5', small: '2' },
  ],
  metrics: NUMBER_METRICS,
  prepare,
  figures: (summary) => {
    const unit = summary.settings.some(({ groups }) => groups.some(({ group }) => group === 'lines')) ? 'lines' : 'tokens'
    return [
      {
        name: 'accuracy',
        caption: `Accuracy over the length of the prompt in ${unit}, one line per setting.`,
        spec: overGroup(summary, { group: unit, metric: 'accuracy' }, { xTitle: unit, yTitle: 'accuracy (%)' }),
      },
    ]
  },
  notes: [
    "The prompt is LongChat's in Vicuna's template; the first number of the output counts (LongChat's own script takes the last).",
    'Records that exceed the window have no score for the decoder alone.',
    'Without --data records are generated from a seed and the word lists of this project.',
  ],
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const newTokens = { maxNewTokens: options.integer('maxNewTokens', 1), minNewTokens: options.integer('minNewTokens') }
  const data = options.text('data')
  const read =
    data === undefined
      ? { items: generated(options, client) }
      : await (await import('./read.ts')).readLines(data, options.integer('cases', 1))
  return prepareNeedles({ ...NUMBERS, ...newTokens, ...read }, options, client)
}

/** Cases of every requested length. @throws options_invalid */
function generated(options: TaskOptions, client: ReaderClient): NeedleItem[] {
  const unit = options.text('lines') === undefined ? 'tokens' : 'lines'
  const seed = options.integer('seed')
  return options.integers(unit, 1).flatMap((length) =>
    Array.from({ length: options.integer('cases', 1) }, (_, i) => {
      const count = checked(unit === 'lines' ? length : linesFor(length, seed, i, client), unit)
      const { document, question, expected } = linesCase(count, seed, i)
      return {
        id: `${length} ${unit}, case ${i + 1}`,
        groups: { [unit]: String(length) },
        document: VICUNA.before + document,
        question: question + VICUNA.after,
        expected,
      }
    }),
  )
}

/** Lines of a case whose prompt has about this many tokens; at least one. */
function linesFor(tokens: number, seed: number, index: number, { tokenizer }: ReaderClient): number {
  const tokensAt = (count: number): number => {
    const { document, question } = linesCase(Math.min(MOST_LINES, Math.max(1, count)), seed, index)
    return tokenizer.encode(VICUNA.before + document).length + tokenizer.encode(question + VICUNA.after).length
  }
  return Math.max(1, sizeFor(tokens, tokensAt, 20))
}

function checked(count: number, unit: string): number {
  if (count <= MOST_LINES) return count
  throw new CodedError('options_invalid', `--${unit} takes what ${MOST_LINES} lines fill, since names are different; not ${count} lines.`)
}
